// What is said of a job, and what becomes of its end.
#include "run/job_report.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const SchedulerSpec& slurm() {
  return *find_scheduler("slurm");
}

JobNews news(const std::string& state, const std::string& reason = "None", const std::string& more = "") {
  const auto line = "JobId=12 JobName=x JobState=" + state + " Reason=" + reason + " " + more;
  JobNews news;
  news.job = "12";
  news.status = slurm().read_status(line, "", 0).value();
  return news;
}

TEST(JobWords, TellWhereTheJobIs) {
  JobNews submitted;
  submitted.job = "12";
  EXPECT_EQ(announce(slurm(), submitted, false), "Slurm job 12 is submitted");
  auto waits = news("PENDING", "Resources", "StartTime=2026-11-22T00:08:56");
  waits.position = 2;
  waits.waited_s = 75.4;
  EXPECT_EQ(announce(slurm(), waits, false), "Slurm job 12 waits for nodes to become free (Resources)");
  EXPECT_EQ(announce(slurm(), waits, true),
            "Slurm job 12 waits for nodes to become free (Resources), number 2 in the queue, expected to start at "
            "2026-11-22T00:08:56; 1m15s so far");
  auto runs = news("RUNNING", "None", "RunTime=00:01:05 NodeList=nid[001-004]");
  runs.progress = SpoolProgress{3, 15, 1};
  EXPECT_EQ(announce(slurm(), runs, false), "Slurm job 12 runs on nid[001-004]");
  EXPECT_EQ(announce(slurm(), runs, true), "Slurm job 12 runs on nid[001-004] for 1m5s, 3 of 15 cases done, 1 failed");
}

TEST(JobWords, SayWhatToDoWhereWaitingDoesNotHelp) {
  EXPECT_EQ(announce(slurm(), news("PENDING", "JobHeldUser"), false),
            "Slurm job 12 is held by its user (JobHeldUser); release it: scontrol release 12");
  EXPECT_EQ(
      announce(slurm(), news("PENDING", "PartitionTimeLimit"), false),
      "Slurm job 12 can't start: the partition allows less time (PartitionTimeLimit); request less with -J time=..., "
      "or choose a partition that allows it: -J partition=...");
  auto silent = news("PENDING", "Priority");
  silent.trouble = "Unable to contact slurm controller";
  EXPECT_EQ(
      announce(slurm(), silent, false),
      "Slurm job 12 waits behind jobs of higher priority (Priority); Slurm does not answer now: Unable to contact "
      "slurm controller");
  EXPECT_EQ(announce(slurm(), news("PENDING", "BeginTime", "Restarts=1"), false),
            "Slurm job 12 (start 2: it was requeued) waits for the time from which it may start (BeginTime)");
}

RunReport header() {
  RunReport report;
  report.run_id = "abc123";
  report.folder = "muster-runs/x";
  report.system = "s";
  report.command_line = {"muster", "run", "--submit"};
  return report;
}

Plan plan() {
  Plan plan;
  plan.cases.resize(2);
  plan.cases[0].id = plan.cases[0].check = "a";
  plan.cases[1].id = plan.cases[1].check = "b";
  return plan;
}

CaseResult passed(const std::string& id) {
  CaseResult result;
  result.id = result.check = id;
  result.verdict = Verdict::pass;
  result.reason = "all well";
  result.rerun = {"muster", "run", "-n", id};
  result.repetitions = {{1, Verdict::pass, "all well", 1, 0}};
  return result;
}

JobReturn returned(JobNews of) {
  JobReturn back;
  back.news = std::move(of);
  back.submitted_on = "login1";
  back.output = "line\nslurmstepd: error: *** JOB 12 ON nid001 CANCELLED ***\n";
  back.output_file = "muster-runs/x/job/output";
  back.inside_prefix = {"muster", "run"};
  back.outside_prefix = {"muster", "run", "--submit"};
  return back;
}

RunReport good() {
  RunReport reported;
  reported.run_id = "inside";
  reported.folder = "muster-runs/x/job/0";
  reported.cases = {passed("a"), passed("b")};
  reported.exit_status = 0;
  reported.verdict = Verdict::pass;
  return reported;
}

TEST(JobReport, IsAsIfItHadRunHere) {
  auto back = returned(news("COMPLETED", "None", "NodeList=nid[001-002] ExitCode=0:0"));
  back.is_finished = true;
  back.reported = good();
  back.reported->seconds = 2.5;
  back.seconds = 60;
  const auto report = report_of_job(slurm(), header(), plan(), back);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_EQ(report.seconds, 60) << "with the time in the queue";
  EXPECT_EQ(report.verdict, Verdict::pass);
  EXPECT_EQ(report.run_id, "abc123");
  EXPECT_EQ(report.folder, "muster-runs/x");
  EXPECT_EQ(report.cases.size(), 2U);
  EXPECT_EQ(report.cases[0].rerun, (Argv{"muster", "run", "--submit", "-n", "a"}));
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(report.notes[0], "ran as Slurm job 12 on nid[001-002], submitted on login1; in the job muster took 2.5 s");
}

TEST(JobReport, SaysThatTheJobWasRequeued) {
  auto back = returned(news("COMPLETED", "None", "Restarts=1"));
  back.is_finished = true;
  back.reported = good();
  const auto report = report_of_job(slurm(), header(), plan(), back);
  EXPECT_NE(report.notes[0].find("requeued once"), std::string::npos) << report.notes[0];
}

TEST(JobReport, SilenceIsNoPass) {
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"}) {
    const auto report = report_of_job(slurm(), header(), plan(), returned(news(state, "None", "ExitCode=0:0")));
    EXPECT_EQ(report.exit_status, 2) << state;
    ASSERT_EQ(report.cases.size(), 3U) << state;
    EXPECT_EQ(report.cases[0].id, "job%12");
    EXPECT_NE(report.cases[0].reason.find(state), std::string::npos) << report.cases[0].reason;
    EXPECT_NE(report.cases[0].reason.find("nothing came back"), std::string::npos) << report.cases[0].reason;
    EXPECT_FALSE(report.cases[0].remedy.empty()) << state;
    EXPECT_EQ(report.cases[1].verdict, Verdict::unmeasured);
  }
}

TEST(JobReport, NamesJobStateExitAndTheEndOfItsOutput) {
  const auto report = report_of_job(slurm(), header(), plan(),
                                    returned(news("FAILED", "NonZeroExitCode", "ExitCode=127:0 NodeList=nid001")));
  const auto& job = report.cases[0];
  EXPECT_EQ(job.verdict, Verdict::error);
  EXPECT_EQ(job.reason, "Slurm job 12 has failed on nid001 (FAILED, exit status 127); nothing came back");
  ASSERT_EQ(job.outputs.size(), 1U);
  EXPECT_NE(job.outputs[0].text.find("CANCELLED"), std::string::npos);
  EXPECT_EQ(job.culprits[0].name, "Slurm job 12");
}

TEST(JobReport, AJobThatPrintedNothingMayHaveAnotherFileSystem) {
  auto back = returned(news("COMPLETED", "None", "ExitCode=0:0"));
  back.output.clear();
  const auto report = report_of_job(slurm(), header(), plan(), back);
  EXPECT_NE(report.cases[0].reason.find("it has printed nothing"), std::string::npos);
  EXPECT_NE(report.cases[0].remedy.find("--output"), std::string::npos) << report.cases[0].remedy;
}

TEST(JobReport, AFailedNodeIsTheCulprit) {
  auto back = returned(news("NODE_FAIL", "NodeDown", "NodeList=nid[001-002] ExitCode=0:15"));
  back.nodes = {{"nid001", "idle", "", true, true}, {"nid002", "down", "lost power", false, false}};
  auto reported = good();
  reported.cases[1].verdict = Verdict::unmeasured;
  reported.exit_status = 2;
  back.reported = reported;
  const auto report = report_of_job(slurm(), header(), plan(), back);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_EQ(report.cases[0].verdict, Verdict::fail);
  ASSERT_EQ(report.cases[0].culprits.size(), 1U);
  EXPECT_EQ(report.cases[0].culprits[0].node, "nid002");
  EXPECT_NE(report.cases[0].reason.find("nid002 is down: lost power"), std::string::npos) << report.cases[0].reason;
  EXPECT_EQ(report.cases[1].verdict, Verdict::pass) << "what was measured stays";
}

TEST(JobReport, WhoCancelledIsNamed) {
  auto back = returned(news("CANCELLED"));
  back.news.status.ended_by = "1000";
  const auto report = report_of_job(slurm(), header(), plan(), back);
  EXPECT_EQ(report.cases[0].verdict, Verdict::unmeasured);
  EXPECT_NE(report.cases[0].reason.find("was cancelled by user 1000"), std::string::npos) << report.cases[0].reason;
}

TEST(JobReport, AnInterruptHasItsExitStatus) {
  for (const auto& [signal, status] : {std::pair{"SIGINT", 130}, std::pair{"SIGTERM", 143}, std::pair{"SIGHUP", 129}}) {
    auto back = returned(news("CANCELLED"));
    back.interrupted = signal;
    const auto report = report_of_job(slurm(), header(), plan(), back);
    EXPECT_EQ(report.exit_status, status);
    EXPECT_EQ(report.interrupted, signal);
    EXPECT_NE(report.cases[0].reason.find(signal), std::string::npos);
  }
}

TEST(JobReport, ASignalInsideIsNotOneHere) {
  auto back = returned(news("CANCELLED"));
  back.reported = good();
  back.reported->interrupted = "SIGTERM";
  back.reported->exit_status = 143;
  const auto report = report_of_job(slurm(), header(), plan(), back);
  EXPECT_EQ(report.interrupted, "");
  EXPECT_EQ(report.exit_status, 2);
}

TEST(JobReport, WhatTheRunInsideCouldNotRecordIsNoSuccess) {
  auto back = returned(news("COMPLETED"));
  back.is_finished = true;
  back.inside_status = 2;
  back.reported = good();
  EXPECT_EQ(report_of_job(slurm(), header(), plan(), back).exit_status, 2);
}

}  // namespace
}  // namespace muster
