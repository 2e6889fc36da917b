"""The report: one page that needs nothing but itself. Looked at by a real browser where there is one."""

import io
import re
from html.parser import HTMLParser

import chromium
import numpy as np
import pytest
from PIL import Image
from test_plots import made, without_objective

import tensorfill as tfl
from tensorfill.show.report import write_report

SECTIONS = ("How the run went", "Factors along each mode", "How it was made")


@pytest.fixture(scope="module")
def results():
    return {kind: made(kind) for kind in ("picture", "slices", "video")}


class Outline(HTMLParser):
    """Which tags are open, what they load, and the text."""

    VOID = ("meta", "img", "input", "br", "use", "path", "image")

    def __init__(self, page):
        super().__init__()
        self.open, self.loads, self.words, self.headings = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.mark.parametrize(
    ("kind", "known"), [("picture", False), ("picture", True), ("slices", False), ("slices", True), ("video", True)]
)
def test_the_page_is_whole_and_stands_alone(kind, known, results, tmp_path):
    done, truth = results[kind]
    write_report(done, tmp_path / "r.html", command="tensorfill complete a b", truth=truth if known else None)
    page = (tmp_path / "r.html").read_text()
    outline = Outline(page)
    assert outline.open == []
    assert all(load.startswith(("data:", "#")) for load in outline.loads)
    assert not re.search(r"@import|url\((?!#|\"?data:)", page)
    assert set(SECTIONS) < set(outline.headings)
    text = "".join(outline.words)
    assert "tensorfill complete a b" in text
    assert done.status.sentence in text
    for dim in done.observations.dims:
        assert dim in text
    assert ("Difference to the truth" in text) == (known and kind != "slices")
    assert ("compare" in page.split("</style>")[1].split("<script>")[0]) == (kind != "slices")


def test_same_result_same_page(results, tmp_path):
    done, _ = results["slices"]
    write_report(done, tmp_path / "a.html")
    write_report(done, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_pictures_are_the_data(results, tmp_path):
    import base64

    done, truth = results["picture"]
    write_report(done, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    shown = {}
    for tag in re.findall(r"<img[^>]*>", page):
        name, data = re.search(r'alt="([^"]*)"', tag)[1], re.search(r"base64,([^\"]*)", tag)[1]
        shown[name] = np.array(Image.open(io.BytesIO(base64.b64decode(data))))
    mask = done.observations.mask
    np.testing.assert_array_equal(shown["before"], np.where(mask, truth, 0))
    np.testing.assert_array_equal(shown["after"], done.completed)
    np.testing.assert_array_equal(shown["filled entries"], np.where(mask, 0, done.completed))


def test_what_cannot_be_shown_is_left_out(results, tmp_path):
    write_report(without_objective(results["picture"][0]), tmp_path / "r.html")
    text = "".join(Outline((tmp_path / "r.html").read_text()).words)
    assert "reports no objective" not in text  # an empty chart
    assert "Factors along each mode" not in text
    assert "Least certain entries" not in text


def test_nothing_a_user_typed_becomes_markup(results, tmp_path):
    done, _ = results["slices"]
    evil = '<script>alert("x")</script>'
    write_report(
        done,
        tmp_path / "r.html",
        command=evil,
        title=evil,
        notes=[evil],
        labels={"day": [evil] * 6, "hour": "abc<defghijk"},
    )
    page = (tmp_path / "r.html").read_text()
    assert page.count("<script>") == 1
    assert "&lt;script&gt;" in page
    assert Outline(page).open == []


def test_a_failed_report_leaves_the_old_one(results, tmp_path, monkeypatch):
    (tmp_path / "r.html").write_text("<!doctype html>tensorfill")
    monkeypatch.setattr("tensorfill.show.report._factors", None)
    with pytest.raises(TypeError):
        write_report(results["slices"][0], tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == "<!doctype html>tensorfill"


# --- in a browser -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chrome = chromium.start(tmp_path_factory.mktemp("profile"), "1100,1400")
    yield chrome
    chrome.quit()


def shot(element):
    """What is on the screen at an element, (h, w, 3)."""
    return np.array(Image.open(io.BytesIO(element.screenshot_as_png)).convert("RGB")).astype(int)


def position(browser):
    return float(
        browser.execute_script("return document.querySelector('.compare').style.getPropertyValue('--at')").rstrip("%")
    )


def drag(browser, box, share):
    """Press the mouse in the middle of the picture, move to `share` of its width, let go."""
    from selenium.webdriver.common.action_chains import ActionChains

    away = round((share - 0.5) * box.size["width"])
    ActionChains(browser, duration=20).move_to_element(box).click_and_hold().move_by_offset(
        away // 2, 3
    ).move_by_offset(away - away // 2, -3).release().perform()


def test_the_slider_is_dragged(results, tmp_path, browser):
    from selenium.webdriver.common.by import By

    done, _ = results["picture"]
    write_report(done, tmp_path / "r.html")
    browser.get((tmp_path / "r.html").as_uri())
    box = browser.find_element(By.CSS_SELECTOR, ".compare")
    assert position(browser) == 50
    middle = shot(box)
    drag(browser, box, 0.9)
    assert position(browser) == pytest.approx(90, abs=3)
    before = shot(box)
    drag(browser, box, 0.1)
    assert position(browser) == pytest.approx(10, abs=3)
    after = shot(box)
    width = box.size["width"]
    left, right = slice(round(0.15 * width), round(0.4 * width)), slice(round(0.6 * width), round(0.85 * width))
    np.testing.assert_array_equal(middle[60:, left], before[60:, left])  # left of the bar is the picture before
    np.testing.assert_array_equal(middle[60:, right], after[60:, right])
    assert np.abs(before[60:, left] - after[60:, left]).mean() > 10
    # with holes it is darker than without
    assert before[60:, left].mean() < 0.8 * after[60:, left].mean()
    Image.fromarray(after.astype(np.uint8)).save(tmp_path / "slider.png")


def test_the_slider_obeys_the_keyboard(results, tmp_path, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    write_report(results["picture"][0], tmp_path / "r.html")
    browser.get((tmp_path / "r.html").as_uri())
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    focus = browser.switch_to.active_element
    assert focus.get_attribute("type") == "range"
    focus.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert position(browser) == 52
    focus.send_keys(Keys.HOME)
    assert position(browser) == 0
    assert focus.get_attribute("aria-valuetext") == "0 % before, 100 % after"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1100])
def test_the_page_in_light_and_dark_wide_and_narrow(scheme, width, results, tmp_path, browser):
    write_report(results["slices"][0], tmp_path / "r.html", command="tensorfill complete " + 30 * "long/" + "name.npy")
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.set_window_size(max(width, 500), 1400)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 1400, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get((tmp_path / "r.html").as_uri())
    page = np.array(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("L"))
    assert (np.median(page) < 60) == (scheme == "dark")
    assert page.std() > 5
    # nothing sticks out, and nothing was refused by the page's own policy
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    # text of the charts is in the colour of the page
    colour = browser.execute_script("return getComputedStyle(document.querySelector('.chart svg text')).fill")
    ink = browser.execute_script("return getComputedStyle(document.body).color")
    assert colour == ink
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_page_says_what_made_the_answer(tmp_path, rng):
    """Means were called a normal prior of rank 2, and a method without a prior had the prior null."""
    T = np.add.outer(np.sin(np.arange(40) / 5), rng.normal(size=9)) + rng.normal(0, 0.1, (40, 9))
    T[rng.random(T.shape) < 0.1] = np.nan
    tfl.complete(T, candidates=["interpolation"]).report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<li>answer by <b>interpolation" in page
    assert "<li>rank" not in page
    assert "<th>prior</th><td>null" not in page
    tfl.complete(T, candidates=["low-rank"], rank=2).report(tmp_path / "b.html")
    assert "<li>rank <b>2</b></li>" in (tmp_path / "b.html").read_text()
