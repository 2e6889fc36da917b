"""The figures of docs/app.md, measured in Chromium: `python docs/app_figures.py`. Wants an idle machine."""

from __future__ import annotations

import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
from app_pictures import until, visited
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains

from tensorfill.data.samples import photograph

LISTEN = """window.times = []; const was = window.EventSource; window.EventSource = function (u) { const s = new was(u);
s.addEventListener("message", () => window.times.push(performance.now())); return s; }; window.EventSource.CLOSED = 2"""


class Visitor:
    """Counts clicks and seconds."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.clicks, self.began = page, 1, time.monotonic()  # one for the button that chooses a file
        page.get(address)

    def opens(self, path: Path) -> None:
        self.page.find_element("id", "file").send_keys(str(path))
        until(self.page.find_element("id", "look").is_displayed)

    def clicks_on(self, name: str) -> None:
        self.clicks += 1
        self.page.find_element("id", name).click()

    def paints(self) -> None:
        self.clicks += 1
        canvas = self.page.find_element("id", "canvas")
        chain = ActionChains(self.page, duration=20).move_to_element_with_offset(canvas, -90, -40).click_and_hold()
        chain.move_by_offset(60, 30).move_by_offset(90, -50).release().perform()

    def waits(self) -> None:
        until(self.page.find_element("id", "result").is_displayed)

    def __str__(self) -> str:
        return f"{self.clicks} clicks, {time.monotonic() - self.began:.1f} s"


def table(path: Path) -> Path:
    """Readings of 5 stations over 60 days, a fifth of them absent."""
    rng = np.random.default_rng(0)
    T = 20 + 5 * np.sin(np.arange(60)[:, None] / 7 + np.arange(5)) + rng.normal(0, 0.3, (60, 5))
    rows = (",".join(f"{v:.1f}" if rng.random() > 0.2 else "" for v in row) for row in T)
    path.write_text("day,a,b,c,d,e\n" + "\n".join(f"d{k},{row}" for k, row in enumerate(rows)) + "\n")
    return path


def stopped(page: Any, address: str, path: Path) -> tuple[float, float]:
    """Milliseconds between two messages of a run (the median), and from the click on Stop to the answer."""
    me = Visitor(page, address)
    me.opens(path)
    page.execute_script("document.getElementById('effort').value = 'best'")
    page.execute_script(LISTEN)
    page.find_element("css selector", "#questions button").click()  # what is transparent is missing
    until(page.find_element("id", "fill").is_enabled)
    me.clicks_on("fill")
    until(page.find_element("id", "now-box").is_displayed)
    time.sleep(3)
    began = time.monotonic()
    me.clicks_on("stop")
    me.waits()
    return float(np.median(np.diff(page.execute_script("return window.times")))), 1e3 * (time.monotonic() - began)


def main() -> None:
    """Serve the page, and do what a person would."""
    with visited() as (page, address):
        waits = []
        for _ in range(5):
            began = time.perf_counter()
            with urllib.request.urlopen(address) as answer:
                answer.read(1)
            waits.append(1e3 * (time.perf_counter() - began))
        print(f"first byte of the page: {waits[0]:.0f} ms at first, then {np.median(waits[1:]):.0f} ms", flush=True)
        with tempfile.TemporaryDirectory() as room:
            photo = np.asarray(Image.fromarray(photograph()).resize((256, 300)))
            Image.fromarray(photo).save(f"{room}/photo.png")
            alpha = np.where(np.random.default_rng(0).random(photo.shape[:2]) < 0.3, 255, 0).astype(np.uint8)
            Image.fromarray(np.dstack([photo, alpha])).save(f"{room}/clear.png")
            me = Visitor(page, address)
            me.opens(Path(room, "photo.png"))
            me.paints()
            me.clicks_on("fill")
            me.waits()
            me.clicks_on("download")
            print(f"a photograph of 256 x 300 pixels: {me}", flush=True)
            me = Visitor(page, address)
            me.opens(table(Path(room, "table.csv")))
            me.clicks_on("fill")
            me.waits()
            me.clicks_on("download")
            print(f"a table of 60 x 5: {me}", flush=True)
            between, stop = stopped(page, address, Path(room, "clear.png"))
            print(f"progress every {between:.0f} ms (median); a stop is answered after {stop:.0f} ms")


if __name__ == "__main__":
    main()
