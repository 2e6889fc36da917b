"""The pictures of docs/app.md, taken of the page itself in Chromium: `make app-pictures`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains

from tensorfill.data.samples import photograph

HERE = Path(__file__).parent
WIDTH = 1180


def browser() -> Any:
    """Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={WIDTH},900")
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


@contextmanager
def visited() -> Iterator[tuple[Any, str]]:
    """A browser, and the address of a page that is served for it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tensorfill", "app", "--no-open", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    page = browser()
    try:
        assert server.stdout is not None
        found = re.search(r"http\S+", server.stdout.readline())
        assert found is not None
        yield page, found[0]
    finally:
        page.quit()
        server.terminate()
        server.wait()


def until(true: Any, seconds: float = 600) -> None:
    """Wait until it is."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.1)


def save(page: Any, name: str, height: int) -> None:
    """What is seen of the page, in few colours."""
    page.set_window_size(WIDTH, height)
    time.sleep(0.6)
    with tempfile.TemporaryDirectory() as room:
        page.save_screenshot(f"{room}/shot.png")
        with Image.open(f"{room}/shot.png") as shot:
            shot.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(HERE / name, optimize=True)


def main() -> None:
    """Open the photograph, paint over it, fill it."""
    with visited() as (page, address):
        page.get(address)
        with tempfile.TemporaryDirectory() as room:
            small = Image.fromarray(photograph()).resize((384, 450))
            small.save(f"{room}/photograph.png")
            page.find_element("id", "file").send_keys(f"{room}/photograph.png")
            until(page.find_element("id", "canvas").is_displayed)
        time.sleep(1)
        strokes = ActionChains(page, duration=20).move_to_element_with_offset(
            page.find_element("id", "canvas"), -150, -40
        )
        strokes.click_and_hold().move_by_offset(70, 30).move_by_offset(110, -60).move_by_offset(90, 150).release()
        strokes.perform()
        save(page, "app-paint.png", 860)
        page.find_element("id", "fill").click()
        until(page.find_element("id", "result").is_displayed)
        until(lambda: page.find_elements("css selector", "#details .compare"))
        save(page, "app-result.png", 980)
        command = [
            sys.executable,
            str(HERE.parent / "examples" / "make_gallery.py"),
            "--drawn",
            "app-paint",
            "app-result",
        ]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
