#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The page of tensorhub-server in a real browser without a screen: what a server, its workers and
a broadcast look like in the document that comes of it. Skipped where there is no chromium.

    page_test.py [--pictures FOLDER] FOLDER-OF-THE-BINARIES
"""

import html.parser
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
import made_up_fleet  # noqa: E402
from served import ServedTest  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Of the browser's own clock, which stands still while it waits for the server.
VIRTUAL_MS = 5000
pictures = None


class Seen(html.parser.HTMLParser):
    """The document that came of the page: texts by the id of the element around them."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.texts, self.tags, self.open = {}, {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag not in ("meta", "link", "br", "input", "img"):
            self.open.append((tag, attrs.get("id")))
        if attrs.get("id"):
            self.ids[attrs["id"]] = attrs

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for tag, name in self.open:
            if name or tag == "title":
                name = name or tag
                self.texts[name] = self.texts.get(name, "") + data + "\n"

    def text(self, name):
        return " ".join(self.texts.get(name, "").split())

    def count(self, tag, word):
        return sum(1 for name, attrs in self.tags
                   if name == tag and word in (attrs.get("class") or "").split())


class PageTest(ServedTest):
    MODEL = "team/<img/src=x/onerror=document.title='owned'>&amp;"
    LEASE = "1h"  # who is stopped is to stay

    def chromium(self, *words, complaints=0):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", f"--user-data-dir={home}", "--enable-logging=stderr",
                 f"--virtual-time-budget={VIRTUAL_MS}", *words],
                capture_output=True, text=True, timeout=120, check=False)
        said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        self.assertEqual(len(said), complaints, said)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def see(self, choice=None, port=None, picture=None, complaints=0):
        fragment = f"#{urllib.parse.urlencode(choice)}" if choice else ""
        address = f"http://127.0.0.1:{port or self.port}/{fragment}"
        if pictures and picture:
            for name, words in (("light", ["--window-size=1280,1600"]),
                                ("narrow", ["--window-size=500,1800"]),
                                ("dark", ["--window-size=1280,1600",
                                          "--blink-settings=preferredColorScheme=0"])):
                path = os.path.join(pictures, f"{picture}-{name}.png")
                self.chromium(*words, f"--screenshot={path}", address)
        return Seen(self.chromium("--dump-dom", address, complaints=complaints))

    def test_a_server_without_workers(self):
        seen = self.see(picture="empty")
        self.assertIn("No models yet", seen.text("models"))
        self.assertEqual(seen.text("alerts"), "None.")
        self.assertIn("0 workers (0 connected)", seen.text("summary"))
        self.assertIn("No workers", seen.text("workers"))
        self.assertIn("hidden", seen.ids["model-section"])
        self.assertGreater(int(self.body(seen)["data-polls"]), 1)

    def body(self, seen):
        return next(attrs for tag, attrs in seen.tags if tag == "body")

    def test_a_broadcast_and_names_that_are_markup(self):
        trainer = self.worker("trainer")
        self.do(trainer, "publish 3")
        for number in range(3):
            self.do(self.worker(f"rollout-{number}"), "fetch latest")
        seen = self.see(picture="broadcast")
        # There is one model: it is looked at.
        self.assertIn(self.MODEL, seen.text("models"))
        self.assertEqual(seen.text("versions-title"), f"Versions of {self.MODEL}")
        self.assertEqual(seen.text("tree-title"), "Who reads version 3 from whom")
        self.assertIn("4 workers hold it, 4 of them whole.", seen.text("tree-note"))
        self.assertEqual(seen.count("rect", "complete"), 8)  # a box and a bar each
        for group in ("trainer", "rollout-0", "rollout-2"):
            self.assertIn(f"{group}/0", seen.text("tree"))
            self.assertIn(f"{group} / 0", seen.text("workers"))
        self.assertEqual(seen.text("alerts"), "None.")
        self.assertNotIn("img", [tag for tag, _ in seen.tags])
        self.assertEqual(seen.texts["title"].splitlines()[0], "TensorHub")
        self.assertEqual([tag for tag, _ in seen.tags].count("script"), 1)

    def test_a_read_that_is_under_way(self):
        """It does not get on, since its source stands still."""
        trainer, rollout = self.worker("trainer"), self.worker("rollout")
        self.do(trainer, "publish 3")
        trainer.send_signal(signal.SIGSTOP)
        rollout.send("fetch latest")
        path = f"/api/v1/versions?model={urllib.parse.quote(self.MODEL)}"
        while not any(row["reads"] for row in json.loads(self.get(path)[0])["replicas"]):
            pass
        seen = self.see(picture="read")
        self.assertIn("2 workers hold it, 1 of them whole.", seen.text("tree-note"))
        self.assertIn("1 transfer", seen.text("summary"))
        self.assertEqual(seen.count("rect", "bar"), 2)
        self.assertGreater(seen.count("rect", "filling"), 0)
        self.assertIn("filling 0%", seen.text("workers"))

    def test_what_is_lost_and_who_is_behind(self):
        trainer, rollout = self.worker("trainer"), self.worker("rollout")
        self.do(trainer, "publish 3")
        self.do(rollout, "fetch latest")
        for line in ("unpublish", "publish 5", "unpublish force"):
            self.do(trainer, line)
        seen = self.see({"model": self.MODEL, "version": 3, "which": "behind"})
        self.assertIn("5, lost", seen.text("models"))
        self.assertIn("1, by up to 2", seen.text("models"))
        self.assertIn("critical", seen.text("alerts"))
        self.assertIn("TensorHubVersionLost", seen.text("alerts"))
        self.assertEqual(seen.text("tree-title"), "Who reads version 3 from whom")
        self.assertIn("rollout / 0", seen.text("workers"))
        self.assertNotIn("trainer / 0", seen.text("workers"))

    def test_a_model_that_is_not_there(self):
        self.worker("trainer")
        seen = self.see({"model": "nobody's"})
        self.assertIn("nobody has joined it", seen.text("versions-title"))
        self.assertIn("trainer / 0", seen.text("workers"))

    def made_up(self, change=lambda page: page, policy=None, **options):
        """The port of a server that is made up, with the page of the real one, and its policy
        unless there is another."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=20) as answer:
            page, own = answer.read().decode(), answer.headers["Content-Security-Policy"]
        server, port = made_up_fleet.serve(change(page), policy or own, **options)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return port

    def test_ten_thousand_workers(self):
        seen = self.see({"model": made_up_fleet.MODEL}, self.made_up(), "many")
        members = len(made_up_fleet.fleet())
        self.assertIn(f"{members:,} workers hold it", seen.text("tree-note"))
        self.assertIn(f"{members - 60:,} more are not drawn", seen.text("tree-rest"))
        self.assertEqual(seen.count("rect", "track"), 60)
        self.assertIn("below", seen.text("tree"))
        self.assertIn("waits", seen.text("tree"))
        for tier in ("datacenter", "remote"):
            self.assertGreater(seen.count("path", tier), 1)  # one is the legend's
        # Windows, and not all of it.
        self.assertLess(len(seen.tags), 3000)
        self.assertIn("part 1", seen.text("workers"))
        self.assertIn("TensorHubReadersWait", seen.text("alerts"))
        self.assertEqual(seen.texts["title"].splitlines()[0], "(2) TensorHub")

    def test_a_hub_that_does_not_answer(self):
        seen = self.see(port=self.made_up(answers=False))
        self.assertIn("TensorHubDown", seen.text("alerts"))
        self.assertIn("the hub does not answer", seen.text("alerts"))
        self.assertIn("stale", self.body(seen)["class"])

    def used_by(self, script):
        """What is seen when somebody does what the script does, once all is there."""
        user = f"""<script>
            const waits = setInterval(() => {{
              if (!document.body.dataset.polls) return;
              clearInterval(waits);
              {script}
            }}, 100);
            </script>"""
        port = self.made_up(lambda page: page.replace("</body>", f"{user}</body>"),
                            policy="default-src 'self' 'unsafe-inline' data:")
        return self.see({"model": made_up_fleet.MODEL}, port)

    def test_who_uses_the_keyboard_stays_where_they_are(self):
        """Though the rows are made anew with each look."""
        seen = self.used_by("""
            const button = [...document.querySelectorAll('#models button')][3];
            button.focus();
            button.tried = true;
            setInterval(() => {
              const now = document.activeElement;
              document.body.dataset.focused = `${now.dataset.key} ${now.tried ? 'old' : 'new'}`;
            }, 100);""")
        self.assertEqual(self.body(seen)["data-focused"], "model ablation-02/critic new")

    def test_the_next_part_and_the_workers_that_stand_still(self):
        seen = self.used_by("document.querySelector('[data-key=\"workers Next\"]').click();")
        self.assertIn("part 2", seen.text("workers"))
        self.assertIn("part 1", seen.text("models"))
        seen = self.used_by("""
            const state = document.getElementById('workers-state');
            state.value = 'stalled';
            state.dispatchEvent(new Event('change'));""")
        self.assertIn("stands still for 9.0 s", seen.text("workers"))
        self.assertNotIn("lease", seen.text("workers"))

    def test_another_model_is_chosen(self):
        seen = self.used_by("[...document.querySelectorAll('#models button')][1].click();")
        current = [attrs["data-key"] for tag, attrs in seen.tags
                   if tag == "button" and attrs.get("aria-current") == "true"]
        self.assertIn("model ablation-00/critic", current)

    def test_the_policy_lets_no_other_script_run(self):
        foreign = "<script>document.body.dataset.owned = 1</script>"
        port = self.made_up(lambda page: page.replace("</main>", f"</main>{foreign}"))
        seen = self.see(port=port, complaints=1)
        self.assertNotIn("data-owned", self.body(seen))
        self.assertIn(made_up_fleet.MODEL, seen.text("models"))


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no chromium here (apt-get install chromium: 414 MB)")
        sys.exit(binaries.SKIPPED)
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        pictures = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    binaries.main()
