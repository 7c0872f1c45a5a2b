"""Homes of a site's own profiles and checks: added to the shipped ones, and refused where another user could change them."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
FOREIGN = 65533
PROFILE = '[system]\nname = "mine"\n[[partition]]\nname = "few"\nlauncher = "local"\n[partition.node]\ncores = 2\n'
REFERENCE = '[[partition.reference]]\ncheck = "site_memory"\ntriad = { value = 10.0, lower = -0.2, unit = "GB/s" }\n'
CHECK = '[check.{}]\nprobe = "hello"\nsummary = "Of the site."\nranks = "one-per-node"\ntags = {}\n'
BOTH = PROFILE + CHECK.format("nightly", '["default", "gate"]')
# Nothing of what surrounds the test may be found.
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("MUSTER_", "SLURM_", "XDG_CONFIG", "LUMI_", "NERSC_", "TACC_"))}


class Homes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-config-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.home = self.folder / "config/muster"
        (self.home / "systems").mkdir(parents=True, mode=0o755)

    def put(self, name, text, home=None):
        path = (home or self.home) / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def muster(self, *words, status=0, wrapper=(), config=None):
        env = {**CLEAN, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(config or self.folder / "config"), "NO_COLOR": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([*wrapper, MUSTER, *map(str, words)], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=120 * support.SLOWNESS)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def systems(self, *words, **more):
        return {row["name"]: row["file"] for row in json.loads(self.muster("list", "--systems", "--json", *words, **more).stdout)}

    def checks(self, *words, **more):
        return {row["name"]: row["place"] for row in json.loads(self.muster("list", "--json", *words, **more).stdout)}

    def doctor(self, *words, status=None, **more):
        said = self.muster("doctor", "--json", *words, status=0 if status is None else status, **more).stdout
        return [line for line in json.loads(said) if line["subject"] == "site's files"]


class Added(Homes):
    def test_beside_the_shipped_ones(self):
        profile = self.put("systems/mine.toml", PROFILE)
        check = self.put("nightly.toml", CHECK.format("nightly", '["default"]'))
        self.assertEqual(self.systems()["mine"], str(profile))
        self.assertIn("lumi", self.systems())
        self.assertTrue(self.checks()["nightly"].startswith(f"{check}:"), self.checks())
        self.assertIn("hello", self.checks())
        planned = {case["check"] for case in json.loads(self.muster("plan", "--json", "--system", "mine").stdout)["cases"]}
        self.assertLessEqual({"nightly", "clock_skew"}, planned)
        self.assertEqual(self.doctor()[0]["says"], f"{self.home}: profiles mine; checks nightly")

    def test_the_home_without_xdg_config_home(self):
        (self.folder / ".config").mkdir()
        (self.folder / "config/muster").rename(self.folder / ".config/muster")
        self.put("mine.toml", PROFILE, self.folder / ".config/muster")
        self.assertIn("mine", self.systems(config="relative"))

    def test_given_checks_are_the_only_ones_and_profiles_stay_known(self):
        self.put("mine.toml", PROFILE)
        self.put("nightly.toml", CHECK.format("nightly", '["default"]'))
        given = self.put("given.toml", CHECK.format("given", "[]"), self.folder)
        plan = json.loads(self.muster("plan", "--json", given, "--system", "mine").stdout)
        self.assertEqual([case["check"] for case in plan["cases"]], ["given"])

    def test_the_user_s_file_replaces_the_shipped_one_and_a_named_folder_both(self):
        mine = self.put("hello.toml", CHECK.format("hello", '["default"]'))
        self.put("generic.toml", PROFILE.replace("mine", "generic"))
        self.assertTrue(self.checks()["hello"].startswith(str(mine)))
        self.assertEqual(self.systems()["generic"], str(self.home / "generic.toml"))
        other = self.folder / "other"
        other.mkdir()
        named = self.put("hello.toml", CHECK.format("hello", '["default"]'), other)
        self.assertTrue(self.checks("--config", other)["hello"].startswith(str(named)))
        self.assertNotIn(str(self.folder), self.checks("--config", "none")["hello"])

    def test_a_reference_to_a_check_of_the_site(self):
        self.put("mine.toml", PROFILE + REFERENCE)
        said = self.muster("list", "--systems", status=3).stderr
        self.assertIn('check "site_memory" is neither among the given files nor', said)
        self.put("memory.toml", '[check.site_memory]\nprobe = "memory_bandwidth"\n[[check.site_memory.expect]]\n'
                                'metric = "triad"\nreference = "profile"\n')
        self.assertIn("mine", self.systems())
        given = self.put("given.toml", CHECK.format("given", "[]"), self.folder)
        self.assertIn("1 check", self.muster("lint", given).stdout)

    def test_two_of_one_name_in_one_home(self):
        self.put("a.toml", CHECK.format("nightly", "[]"))
        self.put("b.toml", CHECK.format("nightly", "[]"))
        self.assertIn("check nightly is already defined at", self.muster("list", status=3).stderr)

    def test_a_file_of_the_home_that_is_given_too(self):
        check = self.put("nightly.toml", CHECK.format("nightly", "[]"))
        self.assertIn("well formed", self.muster("lint", check).stdout)
        self.assertIn("well formed", self.muster("lint", self.home).stdout)

    @unittest.skipIf(os.geteuid() != 0, "only root may lay another /etc over that of the machine")
    def test_etc_muster(self):
        script = self.folder / "over_etc"
        script.write_text('mount -t tmpfs none /mnt && mkdir -p /mnt/up/muster /mnt/work && chmod 755 /mnt/up /mnt/up/muster && '
                          f'cp {shlex.quote(str(self.folder))}/mine.toml /mnt/up/muster/ && mount -t overlay overlay '
                          '-o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc || exit 99\nexec "$@"\n')
        self.put("mine.toml", PROFILE, self.folder)
        wrapper = ("unshare", "--mount", "--propagation", "private", "sh", str(script))
        if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
            self.skipTest("no overlay can be mounted here")
        self.assertEqual(self.systems(wrapper=wrapper)["mine"], "/etc/muster/mine.toml")
        self.put("mine.toml", PROFILE.replace("few", "many"))
        self.assertEqual(self.systems(wrapper=wrapper)["mine"], str(self.home / "mine.toml"), "the user's replaces the site's")
        self.put("mine.toml", BOTH, self.folder)
        self.assertTrue(self.checks(wrapper=wrapper)["nightly"].startswith("/etc/muster/mine.toml:"))


class ProfileAndChecksInOneFile(Homes):
    def checks_of_report(self, folder):
        report = json.loads((self.folder / folder / "latest/report.json").read_text())
        return {case["check"] for case in report["cases"]}, report["system"]

    def test_in_the_home_and_in_a_named_folder(self):
        other = self.folder / "other"
        other.mkdir(mode=0o755)
        for folder, words in ((self.home, ()), (other, ("--config", other))):
            path = self.put("mine.toml", BOTH, folder)
            self.assertEqual(self.systems(*words)["mine"], str(path))
            self.assertTrue(self.checks(*words)["nightly"].startswith(f"{path}:"))
            self.assertIn("hello", self.checks(*words))
        self.assertEqual(self.doctor()[0]["says"], f"{self.home}: profiles mine; checks nightly")

    def test_named(self):
        path = self.put("mine.toml", BOTH, self.folder)
        self.assertIn("well formed: 1 check,", self.muster("lint", path).stdout)
        self.assertEqual(list(self.checks(path)), ["nightly"])
        self.assertEqual(self.systems(path)["mine"], str(path))
        self.muster("run", path, "--system", "mine", "--output", "runs")
        self.assertEqual(self.checks_of_report("runs"), ({"nightly"}, "mine"))
        self.muster("gate", "--need", 1, "--checks", path, "--system", "mine", "--output", "gates", "--print", "hosts")
        self.assertEqual(self.checks_of_report("gates"), ({"nightly"}, "mine"))

    def test_a_mistake_is_reported_once(self):
        path = self.put("mine.toml", "title = 1\n" + BOTH.replace("cores", "coers").replace("hello", "helo"), self.folder)
        said = self.muster("lint", path, status=3).stderr
        self.assertEqual([line.split(";")[0] for line in said.splitlines()],
                         [f'{path}:1:1: unknown key "title"', f'{path}:8:1: unknown key "coers" in [partition.node]',
                          f'{path}:10:9: unknown probe "helo"', "3 errors"])


class Lint(Homes):
    def expect_errors(self, text, *wanted):
        """`wanted`: beginnings, in the order of the lines."""
        path = self.put("own.toml", text, self.folder)
        said = self.muster("lint", path, status=3).stderr.splitlines()
        self.assertEqual(len(said), len(wanted) + 1, said)
        for line, words in zip(said, wanted):
            self.assertTrue(line.startswith(f"{path}:{words}"), said)

    def test_the_cause_is_named_first(self):
        self.expect_errors('[check.own]\nprobe = "command"\n[check.own.parms]\nargv = ["true"]\n[[check.own.expect]]\nmetrc = "load"\n',
                           '3:12: unknown key "parms" in [check.own]; did you mean "params"?', '1:8: probe command needs the parameter "argv"',
                           '6:1: unknown key "metrc" in [[check.own.expect]]; did you mean "metric"?', '5:1: [[check.own.expect]] has no "metric"',
                           '5:1: [[check.own.expect]] has no bound')
        self.expect_errors('[check.own]\ntimeout = "x"\nprobe = "comand"\n[check.own.params]\nargw = ["true"]\n[[check.own.expect]]\nmetric = "load"\n',
                           '2:11: "timeout" in [check.own] must be', '3:9: unknown probe "comand"; did you mean "command"?')

    def test_a_limit_without_a_maximum(self):
        self.expect_errors('[check.own]\nprobe = "hello"\n[[check.own.expect]]\nmetric = "barrier"\nlimit = { at_least = 0.5 }\n',
                           '5:1: "limit" needs a metric with a hardware maximum, and "barrier" has none (no metric of probe hello has one)')
        rows = json.loads(self.muster("list", "--metrics", "p2p", "--json").stdout)
        able = [row["name"] for row in rows if row["kind"] == "metric" and "takes a limit" in row["detail"]]
        self.assertIn("bandwidth", able)
        self.assertNotIn("latency", able)


class Refused(Homes):
    def expect_refused(self, words):
        for command in (["list", "--systems"], ["run", "-n", "hello"], ["plan"]):
            said = self.muster(*command, status=3).stderr
            self.assertIn(words, said)
        self.assertIn(words, self.doctor(status=2)[-1]["says"])

    def test_what_a_group_may_write(self):
        path = self.put("mine.toml", PROFILE)
        path.chmod(0o664)
        self.expect_refused("may write it; chmod g-w")
        path.chmod(0o644)
        self.home.chmod(0o777)
        self.expect_refused(f"every user may write it; chmod o-w {self.home}")
        self.home.chmod(0o755)
        self.assertIn("mine", self.systems())

    @unittest.skipIf(os.geteuid() != 0, "only root can give a file away")
    def test_what_belongs_to_another_user(self):
        path = self.put("mine.toml", PROFILE)
        os.chown(path, FOREIGN, FOREIGN)
        self.expect_refused(f"it belongs to user {FOREIGN}, who could change it")

    def test_a_mistake_in_a_file_names_its_place(self):
        path = self.put("nightly.toml", '[check.nightly]\nprobe = "helo"\n')
        self.expect_refused(f"{path}:2:9: unknown probe")

    def test_a_named_folder_that_is_missing(self):
        self.assertIn("No such file", self.muster("list", "--config", self.folder / "gone", status=3).stderr)


class Doctor(Homes):
    def test_which_checks_can_run_and_why_the_others_cannot(self):
        self.put("tools.toml", '[check.absent_tool]\nprobe = "command"\n[check.absent_tool.params]\nargv = ["no-such-tool"]\n'
                               + CHECK.format("nightly", "[]"))
        lines = json.loads(self.muster("doctor", "--json").stdout)
        able = [line["says"] for line in lines if line["subject"] == "checks that can run"]
        unable = [line["says"] for line in lines if line["subject"] == "checks that can't"]
        self.assertIn("nightly", able[0].split(", "))
        self.assertIn("no-such-tool is not on PATH: absent_tool", unable)
        self.assertTrue(any(line.startswith("needs 2 nodes, 1 is given: clock_skew") for line in unable), unable)
        told = able[0].split(", ") + [name for line in unable for name in line.rsplit(": ", 1)[1].split(", ")]
        self.assertEqual(sorted(told), sorted(self.checks()), "each check once")


    def test_a_misspelt_placeholder(self):
        path = self.put("tools.toml", '[check.misspelt]\nprobe = "command"\n[check.misspelt.params]\nargv = ["sh", "{chek}/x.sh"]\n')
        place = ":4:15: unknown placeholder {chek}; did you mean {check}?"
        lint = self.muster("lint", path, status=3)
        self.assertIn(f"tools.toml{place}", lint.stderr)
        bad = [line["says"] for line in json.loads(self.muster("doctor", "--json", status=2).stdout) if line["health"] == "bad"]
        self.assertTrue(any(line.endswith(place) for line in bad), bad)

    def test_why_a_check_of_python_cannot_run(self):
        check = '[check.{0}]\nprobe = "command"\n[check.{0}.params]\nargv = {1}\n{2}\n'
        self.put("tools.toml", check.format("absent_module", '["{python}", "-c", "pass"]', 'imports = ["no_such_module"]')
                               + check.format("there", '["{python}", "-c", "pass"]', 'imports = ["json"]')
                               + check.format("literal", '["echo", "{print}", "{}"]', ""))
        lines = json.loads(self.muster("doctor", "--json").stdout)
        able = [line["says"] for line in lines if line["subject"] == "checks that can run"][0].split(", ")
        unable = [line["says"] for line in lines if line["subject"] == "checks that can't"]
        self.assertIn("there", able)
        self.assertIn("literal", able)
        self.assertTrue(any(re.fullmatch(r"no python3 on PATH has no_such_module: /.*python3: absent_module", line) for line in unable), unable)


class Gate(Homes):
    def test_a_profile_alone_keeps_the_checks_of_the_gate(self):
        profile = self.put("mine.toml", PROFILE, self.folder)
        gated = set(self.checks("-t", "gate"))
        # Only what takes no time; which cases there are is what matters.
        self.muster("gate", "--need", 1, "--checks", profile, "--system", "mine", "-x", "memory|p2p", "--output", "runs",
                    "--print", "hosts")
        report = json.loads((self.folder / "runs/latest/report.json").read_text())
        self.assertEqual({case["check"] for case in report["cases"]},
                         {name for name in gated if "memory" not in name and "p2p" not in name})
        self.assertEqual({row["ranks"] for case in report["cases"] for row in case.get("node_rows", [])}, {1})


if __name__ == "__main__":
    unittest.main()
