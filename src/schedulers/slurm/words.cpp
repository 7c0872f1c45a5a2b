// Slurm's words for states and reasons, as sentences that stand behind "job 12". From slurm.h and squeue(1); what each
// asks of a person is ours.
#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

struct Ending {
  std::string_view state;
  JobFault fault;
  std::string_view why;
  std::string_view remedy;
};

constexpr Ending endings[] = {
    {"COMPLETED", JobFault::none, "has ended", ""},
    {"FAILED", JobFault::job, "has failed", "see the end of its output"},
    {"CANCELLED", JobFault::nobody, "was cancelled",
     "see who cancelled it (sacct, squeue of the site), and run it again"},
    {"TIMEOUT", JobFault::job, "was ended at its time limit", "request more time: -J time=1:00:00"},
    {"DEADLINE", JobFault::job, "was ended at its deadline", "request a later one, or none"},
    {"NODE_FAIL", JobFault::node, "was ended because a node failed",
     "see scontrol show node for the reason, and leave the node out with --nodes"},
    {"BOOT_FAIL", JobFault::node, "was ended because a node did not boot",
     "see scontrol show node for the reason, and leave the node out with --nodes"},
    {"OUT_OF_MEMORY", JobFault::job, "was ended because it ran out of memory",
     "request more memory (-J mem=0: all of a node), or start fewer ranks with --ranks-per-node"},
    {"PREEMPTED", JobFault::nobody, "was ended because another job took its nodes",
     "run it again, in a partition or QOS that is not preempted (-J qos=...)"},
    {"REVOKED", JobFault::nobody, "was taken over by another cluster", "submit from that cluster"},
    {"LAUNCH_FAILED", JobFault::node, "could not be started on a node", "see scontrol show node for the reason"},
    {"RECONFIG_FAIL", JobFault::node, "was ended because a node could not be set up",
     "see scontrol show node for the reason"},
};

struct Waiting {
  std::string_view reason;  ///< or its beginning
  bool is_stuck;
  std::string_view why;
  std::string_view remedy;
};

// The first that fits counts.
constexpr Waiting reasons[] = {
    {"Priority", false, "waits behind jobs of higher priority", ""},
    {"Resources", false, "waits for nodes to become free", ""},
    {"BeginTime", false, "waits for the time from which it may start", ""},
    {"Prolog", false, "waits for its nodes to be made ready", ""},
    {"Cleaning", false, "waits for its former start to be cleared away", ""},
    {"NodesBooting", false, "waits for its nodes to boot", ""},
    {"DependencyNeverSatisfied", true, "can't start: a job that it depends on has failed",
     "cancel it, and correct -J dependency=..."},
    {"Dependency", false, "waits for a job that it depends on", ""},
    {"Licenses", false, "waits for licenses", ""},
    {"Reservation", false, "waits for its reservation to begin", ""},
    {"ReservationDeleted", true, "can't start: its reservation is gone", "choose another: -J reservation=..."},
    {"JobHeldUser", true, "is held by its user", "release it: scontrol release {job}"},
    {"JobHeldAdmin", true, "is held by an administrator", "ask the site's support why"},
    {"job_requeued_in_held_state", true, "was requeued and is held", "release it: scontrol release {job}"},
    {"JobHoldMaxRequeue", true, "is held: it was requeued too often",
     "see why its starts failed; then scontrol release {job}"},
    {"launch_failed_requeued_held", true, "is held: it could not be started",
     "see scontrol show job for the node; then scontrol release {job}"},
    {"PartitionNodeLimit", true, "can't start: the partition allows another number of nodes",
     "request another number with --nodes, or choose a partition that allows it: -J partition=..."},
    {"PartitionTimeLimit", true, "can't start: the partition allows less time",
     "request less with -J time=..., or choose a partition that allows it: -J partition=..."},
    {"PartitionConfig", true, "can't start: the partition does not have what it requests",
     "request fewer nodes with --nodes, or choose another partition: -J partition=..."},
    {"PartitionDown", true, "can't start: the partition is down",
     "wait for the site, or choose another: -J partition=..."},
    {"PartitionInactive", true, "can't start: the partition is inactive",
     "wait for the site, or choose another: -J partition=..."},
    {"ReqNodeNotAvail", true, "can't start: a node that it names is down, drained or reserved",
     "leave the node out with --nodes, or wait until it is back"},
    {"Nodes_required_for_job_are_DOWN", true,
     "can't start: too few nodes are left that are not down, drained or reserved",
     "request fewer with --nodes, or wait until they are back"},
    {"BadConstraints", true, "can't start: no node fulfils what it requests",
     "correct the options (-J, scheduler_options of the profile)"},
    {"AccountNotAllowed", true, "can't start: the partition is not for its account", "choose another: -J account=..."},
    {"AccountingPolicy", true, "can't start: the account's limits do not allow it",
     "request less, or choose another account"},
    {"InvalidAccount", true, "can't start: its account is not valid", "choose one of yours: -J account=..."},
    {"QOSNotAllowed", true, "can't start: the partition or account does not allow its QOS",
     "choose another: -J qos=..."},
    {"InvalidQOS", true, "can't start: its QOS is not valid", "choose one of your account: -J qos=..."},
    {"AssocMaxJobsLimit", false, "waits until fewer jobs of its user run", ""},
    {"MaxJobsPer", false, "waits until fewer jobs of its user run", ""},
    {"QOSMaxJobs", false, "waits until fewer jobs of its user run", ""},
    {"MaxNodePerAccount", true, "can't start: it requests more nodes than its QOS allows",
     "request fewer with --nodes"},
    {"AssocMaxNode", true, "can't start: it requests more nodes than its account allows", "request fewer with --nodes"},
    {"QOSMaxNode", true, "can't start: it requests more nodes than its QOS allows",
     "request fewer with --nodes, or choose another: -J qos=..."},
    {"AssocMaxWall", true, "can't start: it requests more time than its account allows", "request less: -J time=..."},
    {"QOSMaxWall", true, "can't start: it requests more time than its QOS allows",
     "request less with -J time=..., or choose another: -J qos=..."},
    {"AssocGrpBilling", true, "can't start: its account has used up what it was granted",
     "choose another: -J account=..."},
    {"AssocGrp", true, "can't start: the jobs of its account have reached a limit",
     "wait until others of the account end, request less, or choose another: -J account=..."},
    {"AssocMax", true, "can't start: it requests more than its account allows",
     "request less (--nodes, -J time=...), or choose another: -J account=..."},
    {"QOSGrp", true, "can't start: the jobs of its QOS have reached a limit",
     "wait until others end, request less, or choose another: -J qos=..."},
    {"QOSMax", true, "can't start: it requests more than its QOS allows",
     "request less (--nodes, -J time=...), or choose another: -J qos=..."},
    {"QOSMin", true, "can't start: it requests less than its QOS demands",
     "request more, or choose another: -J qos=..."},
    {"SystemFailure", true, "can't start: Slurm has failed", "ask the site's support"},
    {"user_env_retrieval_failed", true, "is held: the user's environment could not be read", "ask the site's support"},
};

void explain_waiting(JobStatus& status) {
  status.phase = JobPhase::waiting;
  for (const auto& known : reasons) {
    if (!status.reason.starts_with(known.reason)) continue;
    // `Reservation` is not the beginning of `ReservationDeleted`.
    if (status.reason.size() > known.reason.size() && known.reason == "Reservation") continue;
    status.why = known.why;
    status.remedy = known.remedy;
    status.is_stuck = known.is_stuck;
    break;
  }
  if (status.why.empty()) status.why = "waits";
  // `ReqNodeNotAvail,_UnavailableNodes:nid002`
  if (const auto at = status.reason.find("UnavailableNodes:");
      at != std::string::npos && at + 17 < status.reason.size())
    status.why += " (" + status.reason.substr(at + 17) + ")";
}

}  // namespace

void explain(JobStatus& status) {
  const std::string_view state = status.state;
  for (const auto& ending : endings) {
    if (state != ending.state) continue;
    status.phase = JobPhase::ended;
    status.fault = ending.fault;
    status.why = ending.why;
    status.remedy = ending.remedy;
    return;
  }
  if (state.starts_with("PENDING") || state.starts_with("REQUEUE") || state == "SPECIAL_EXIT")
    return explain_waiting(status);
  if (state == "CONFIGURING") {
    status.phase = JobPhase::waiting;
    status.why = "waits for its nodes to be made ready";
    return;
  }
  const bool is_ending = state == "COMPLETING" || state == "STAGE_OUT" || state == "SIGNALING";
  status.phase = is_ending ? JobPhase::ending : JobPhase::running;
  status.why = is_ending ? "is ending" : "runs";
  if (state == "SUSPENDED" || state == "STOPPED") {
    status.why = "is suspended";
    status.remedy = "wait until Slurm resumes it, or ask the site's support why";
  }
}

}  // namespace muster::slurm
