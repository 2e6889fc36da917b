"""The page in a real browser: upload, paint, run, stop, download; and how many clicks that takes."""

import io
import re
import subprocess
import sys
import time

import chromium
import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="the extra [app] is not installed")

MOST_CLICKS = 4


def wait_for(happened):
    """Until that is true, however busy the machine: five minutes are for what never will be."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.03)
    raise AssertionError


@pytest.fixture(scope="module")
def address():
    command = (sys.executable, "-m", "tensorfill", "app", "--no-open", "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield re.search(r"http://127\.0\.0\.1:\d+/\S+/", server.stdout.readline())[0]
        server.terminate()
        assert server.wait(100) in (0, 143)


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def chrome(tmp_path_factory, downloads):
    browser = chromium.start(tmp_path_factory.mktemp("profile"), "1200,1100", downloads)
    yield browser
    browser.quit()


class Person:
    """Somebody with a mouse, who counts."""

    def __init__(self, browser, address):
        self.browser, self.clicks = browser, 0
        browser.get(address + "assets/mark.svg")
        browser.execute_script("sessionStorage.clear()")
        browser.get_log("browser")
        browser.get(address)

    def __getitem__(self, name):
        return self.browser.find_element("id", name)

    def sees(self, name):
        return self[name].is_displayed()

    def waits(self, *names):
        """Until one of these is there to be seen; a sentence about a problem ends the wait, too."""
        return wait_for(lambda: next((name for name in (*names, "problem") if self.sees(name)), None))

    def chooses(self, path):
        """The button, then the file in the dialogue of the operating system: one click on the page."""
        self.clicks += 1
        self["file"].send_keys(str(path))

    def click(self, name):
        self.clicks += 1
        self[name].click()

    def strokes(self, *moves):
        from selenium.webdriver.common.action_chains import ActionChains

        self.clicks += 1
        chain = ActionChains(self.browser, duration=10).move_to_element(self["canvas"]).click_and_hold()
        for move in moves:
            chain = chain.move_by_offset(*move)
        chain.release().perform()

    def errors(self):
        log = self.browser.get_log("browser")
        return [line for line in log if line["level"] == "SEVERE" and "favicon.ico" not in line["message"]]


def downloaded(folder, name):
    wait_for(lambda: (folder / name).exists() and not list(folder.glob("*.crdownload")))
    return folder / name


def photo():
    y, x = np.mgrid[0:1:48j, 0:1:60j]
    waves = 0.5 + 0.3 * np.sin(9 * x + 5 * y) * np.cos(7 * y)
    return np.rint(255 * np.stack([waves, x * 0.8, 0.9 - 0.5 * y], axis=-1)).astype(np.uint8)


def test_a_photograph_in_four_clicks(chrome, address, downloads, tmp_path):
    Image.fromarray(photo()).save(tmp_path / "holiday.png")
    me = Person(chrome, address)
    me.chooses(tmp_path / "holiday.png")
    assert me.waits("look") == "look"
    assert not me["fill"].is_enabled()  # nothing is missing yet
    me.strokes((8, 4), (6, -8))
    assert "painted over" in me["painted"].text
    me.click("fill")
    assert me.waits("result") == "result", me["problem"].text
    assert "pixels filled in holiday.png" in me["result-title"].text
    assert re.search(r"[Tt]ypical error \d", me["result-lead"].text)
    me.click("download")
    made = np.array(Image.open(downloaded(downloads, "holiday-filled.png")))
    assert me.clicks <= MOST_CLICKS
    me["mask-save"].click()
    known = np.array(Image.open(downloaded(downloads, "holiday-mask.png")).convert("L")) == 255
    assert 0.001 < (~known).mean() < 0.2
    np.testing.assert_array_equal(made[known], photo()[known])
    assert np.abs(made[~known].astype(int) - photo()[~known]).mean() < 12
    # the slider before and after
    wait_for(lambda: chrome.find_elements("css selector", "#details .compare"))
    (slider,) = chrome.find_elements("css selector", "#details .compare input")
    slider.send_keys("\ue012" * 5)  # arrow left
    assert slider.get_attribute("aria-valuetext").startswith("45 % before")
    assert "--mask holiday-mask.png" in me["command"].text
    assert me.errors() == []


def test_a_table_in_three_clicks(chrome, address, downloads, tmp_path):
    rng = np.random.default_rng(0)
    T = np.outer(np.arange(1, 13), rng.uniform(1, 2, 5)) + rng.normal(0, 0.1, (12, 5))
    cells = [[f"{v:.2f}" if rng.random() > 0.2 else "" for v in row] for row in T]
    text = "day,a,b,c,d,e\n" + "\n".join(f"d{k}," + ",".join(row) for k, row in enumerate(cells)) + "\n"
    (tmp_path / "sales.csv").write_text(text)
    me = Person(chrome, address)
    me.chooses(tmp_path / "sales.csv")
    assert me.waits("look") == "look"
    assert f"{sum(c == '' for row in cells for c in row)} (" in me["facts"].text
    me.click("fill")
    assert me.waits("result") == "result", me["problem"].text
    me.click("download")
    rows = [line.split(",") for line in downloaded(downloads, "sales-filled.csv").read_text().splitlines()[1:]]
    assert me.clicks <= MOST_CLICKS
    for row, old in zip(rows, cells, strict=True):
        assert all(new == was if was else float(new) > 0 for new, was in zip(row[1:], old, strict=True))
    assert me.errors() == []


def test_progress_is_live_and_a_stop_keeps_the_best(chrome, address, tmp_path):
    rng = np.random.default_rng(0)
    P = np.rint(photo().repeat(3, 0).repeat(3, 1) * 0.9 + rng.integers(0, 20, (144, 180, 3))).astype(np.uint8)
    Image.fromarray(np.dstack([P, np.where(rng.random(P.shape[:2]) < 0.5, 255, 0).astype(np.uint8)])).save(
        tmp_path / "clear.png"
    )
    me = Person(chrome, address)
    me.chooses(tmp_path / "clear.png")
    assert me.waits("look") == "look"
    me["questions"].find_element("tag name", "button").click()  # transparent pixels are missing
    wait_for(lambda: "none yet" not in me["facts"].text)
    chrome.execute_script("document.getElementById('method').value = 'sptc'")
    count = (
        "window.messages = 0; const was = window.EventSource; window.EventSource = function (u) { const s = new was(u);"
        "s.addEventListener('message', () => { window.messages += 1; }); return s; };"
        "window.EventSource.CLOSED = 2"
    )
    chrome.execute_script(count)
    me.click("fill")
    assert me.waits("now-box") == "now-box"
    assert "iteration" in me["run-words"].text
    wait_for(lambda: chrome.execute_script("return window.messages") > 4)
    assert int(me["meter"].get_attribute("aria-valuenow")) > 0
    me.click("stop")
    assert me.waits("result") == "result"
    assert me["result-title"].text.startswith("Stopped.")
    assert me.errors() == []


def test_painting_by_the_keyboard(chrome, address, tmp_path):
    Image.fromarray(photo()).save(tmp_path / "p.png")
    me = Person(chrome, address)
    me.chooses(tmp_path / "p.png")
    assert me.waits("look") == "look"
    me["canvas"].send_keys("\ue014\ue014\ue015 ")  # right, right, down, space
    assert "painted over" in me["painted"].text
    assert me["fill"].is_enabled()
    me["undo"].click()
    assert not me["fill"].is_enabled()


def test_zoom_and_move(chrome, address, tmp_path):
    Image.fromarray(photo().repeat(20, 0).repeat(20, 1)).save(tmp_path / "p.png")
    me = Person(chrome, address)
    me.chooses(tmp_path / "p.png")
    assert me.waits("look") == "look"
    before = me["board"].size["width"]
    me["zoom-in"].click()
    me["zoom-in"].click()
    assert me["board"].size["width"] == pytest.approx(2.56 * before, rel=0.02)
    middle = chrome.execute_script("return [frame.scrollLeft, frame.scrollTop]")
    assert min(middle) > 0
    drag = "canvas.dispatchEvent(new PointerEvent('pointermove', {buttons: 1, movementX: 30, movementY: -20}))"
    me["hand"].click()
    chrome.execute_script(drag)
    assert chrome.execute_script("return [frame.scrollLeft, frame.scrollTop]") == [middle[0] - 30, middle[1] + 20]
    assert not me["fill"].is_enabled()  # moving paints nothing
    me["brush"].click()
    stroke = (
        "const box = canvas.getBoundingClientRect(), at = {clientX: box.left + box.width / 4, clientY: box.top + 9};"
    )
    chrome.execute_script(stroke + "paint.begin(paint.place(at)); paint.end()")
    assert chrome.execute_script("return paint.strokes[0].points[0].x") == pytest.approx(300, abs=1)
    me["zoom-fit"].click()
    assert me["board"].size["width"] == pytest.approx(before, abs=1)
    assert not me["hand"].is_enabled()
    assert me.errors() == []


def test_a_variable_is_picked(chrome, address, tmp_path):
    T = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    T[2, 3] = np.nan
    np.savez(tmp_path / "two.npz", sea=T, land=T[:4] * 2)
    me = Person(chrome, address)
    me.chooses(tmp_path / "two.npz")
    assert me.waits("variables") == "variables"
    me["variable"].send_keys("land")
    me["variables-form"].find_element("tag name", "button").click()
    assert me.waits("look") == "look"
    assert "4" in me["look-lead"].text
    me["questions"].find_element("tag name", "button").click()  # another one after all
    assert me.waits("variables") == "variables"


def test_a_mistake_is_said_and_the_page_goes_on(chrome, address, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    me = Person(chrome, address)
    me.chooses(tmp_path / "empty.csv")
    assert me.waits("look") == "problem"
    assert "it is empty" in me["problem"].text
    assert me.sees("choose")


def test_a_reload_brings_the_work_back(chrome, address, tmp_path):
    Image.fromarray(photo()).save(tmp_path / "p.png")
    me = Person(chrome, address)
    me.chooses(tmp_path / "p.png")
    assert me.waits("look") == "look"
    me.strokes((8, 4), (6, -8))
    painted = me["painted"].text
    chrome.refresh()
    assert me.waits("look") == "look"
    assert me["painted"].text == painted
    chrome.execute_script("document.getElementById('method').value = 'halrtc'")
    me.click("fill")
    assert me.waits("result") == "result", me["problem"].text
    chrome.refresh()
    assert me.waits("result") == "result"
    assert "filled in p.png" in me["result-title"].text
    me["change"].click()
    assert me["painted"].text == painted


def test_no_dismisses_a_question_and_undo_brings_back_what_was_cleared(chrome, address, tmp_path):
    P = np.full((40, 50, 3), (224, 117, 45), np.uint8)  # in the usual colour of the brush
    P[:4] = 0
    Image.fromarray(P).save(tmp_path / "p.png")
    me = Person(chrome, address)
    me.chooses(tmp_path / "p.png")
    assert me.waits("look") == "look"
    yes, no = me["questions"].find_elements("tag name", "button")
    assert (yes.text, no.text) == ("Yes", "No")
    no.click()
    assert me["questions"].text == ""
    me.strokes((8, 4), (6, -8))
    red, green, blue = chrome.execute_script("return paint.colour")
    assert abs(red - 224) + abs(green - 117) + abs(blue - 45) > 150
    painted = me["painted"].text
    me["clear"].click()
    assert not me["fill"].is_enabled()
    me["canvas"].send_keys("\ue009z")  # Ctrl-Z
    assert me["painted"].text == painted


def test_the_page_says_when_the_server_ended(chrome):
    command = (sys.executable, "-m", "tensorfill", "app", "--no-open", "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        me = Person(chrome, re.search(r"http://127\.0\.0\.1:\d+/\S+/", server.stdout.readline())[0])
        server.kill()
        server.wait()
        assert me.waits() == "problem"
        assert "no longer running" in me["problem"].text


CONTRAST = """
const level = (c) => { const v = c / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const light = ([r, g, b]) => 0.2126 * level(r) + 0.7152 * level(g) + 0.0722 * level(b);
const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const over = (colours) => { // painted one over the other, the last on top
  pen.clearRect(0, 0, 1, 1);
  for (const c of colours) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); }
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const found = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.closest(":disabled, .sr, .skip, svg, .tag, option")) continue;
  const behind = [];
  for (let up = e; up; up = up.parentElement) behind.unshift(getComputedStyle(up).backgroundColor);
  const [a, b] = [over(behind), over([...behind, getComputedStyle(e).color])].map(light);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const size = parseFloat(getComputedStyle(e).fontSize);
  const told = `${e.tagName} ${e.id || e.className} "${e.textContent.trim().slice(0, 30)}" ${ratio.toFixed(2)}`;
  if (ratio < (size >= 24 ? 3 : 4.5)) found.push(told);
}
return found;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_contrast_and_a_phone_shows_everything(chrome, address, tmp_path, scheme):
    rows = [f"2024-01-{k + 1:02d},{'' if k == 4 else k % 7},{-999 if k in (7, 9) else 5 + k % 3}" for k in range(28)]
    (tmp_path / "s.csv").write_text("day,a,b\n" + "\n".join(rows) + "\n")
    feature = {"name": "prefers-color-scheme", "value": scheme}
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": False}
    wide = "const e = document.documentElement; return e.scrollWidth - e.clientWidth"
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        me = Person(chrome, address)
        for stage in ("start", "look", "result"):
            if stage == "look":
                me.chooses(tmp_path / "s.csv")
                assert me.waits("look") == "look"
                chrome.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
            elif stage == "result":
                chrome.execute_script("document.getElementById('method').value = 'halrtc'; fill.click()")
                assert me.waits("result") == "result"
                wait_for(lambda: not chrome.find_elements("css selector", "#details .drawing"))
            assert chrome.execute_script(wide) == 0, stage
            assert chrome.execute_script(CONTRAST) == [], stage
        assert me.errors() == []
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_keyboard_reaches_every_control(chrome, address, tmp_path):
    Image.fromarray(photo()).save(tmp_path / "p.png")
    me = Person(chrome, address)
    me.chooses(tmp_path / "p.png")
    assert me.waits("look") == "look"
    me["canvas"].send_keys(" ")
    me["zoom-in"].click()
    me["more"].find_element("tag name", "summary").click()
    shown = chrome.execute_script(
        "return [...document.querySelectorAll('button, input, select, summary, canvas, a')].filter(e => "
        "e.checkVisibility() && !e.disabled && !e.getAttribute('aria-hidden')).map(e => e.id || e.textContent.trim())"
    )
    chrome.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = set()
    for _ in range(len(shown) + 8):
        chrome.switch_to.active_element.send_keys("\ue004")  # Tab
        reached.add(chrome.execute_script("const e = document.activeElement; return e.id || e.textContent.trim()"))
    assert set(shown) <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_has_a_name_and_the_dark_page_is_dark(chrome, address, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    Person(chrome, address)
    page = np.array(Image.open(io.BytesIO(chrome.get_screenshot_as_png())).convert("L"))
    assert (np.median(page) < 60) == (scheme == "dark")
    nameless = chrome.execute_script(
        "return [...document.querySelectorAll('button, input, select, canvas, img')].filter(e => "
        "!(e.getAttribute('aria-label') || e.hasAttribute('alt') || (e.labels && e.labels.length)"
        " || e.textContent.trim() || e.getAttribute('aria-hidden'))).map(e => e.id)"
    )
    assert nameless == []
