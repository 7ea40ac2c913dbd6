"""The page of a session in a real browser: moves, alarms, undo, branches, saving, manners."""

import itertools
import json
from pathlib import Path

from tests.valid_ref.play.test_session import RELAYED
from valid_ref import run
from valid_ref.oracle import recording_digest
from valid_ref.scenario import load_scenario

CONTRAST = (Path(__file__).parents[1] / "report" / "contrast.js").read_text(encoding="utf-8")
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
NAMELESS = """() => [...document.querySelectorAll("button, input, select, textarea, [role=region]")]
  .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby")
    || one.labels?.length || one.textContent.trim()))
  .map((one) => one.outerHTML)"""
DOUBLED = """() => { const all = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return all.filter((id, at) => all.indexOf(id) !== at); }"""


def settle(page) -> None:
    """Wait until every command has been answered."""
    page.wait_for_selector("body[data-waiting='0']")


def click(page, selector: str) -> None:
    page.click(selector)
    settle(page)


def lie(page, edge: str, way: str, numbers: str | None = None) -> None:
    page.select_option(f"#move-{edge} [name=way]", way)
    if numbers is not None:
        page.fill(f"#move-{edge} [name=numbers]", numbers)
        page.press(f"#move-{edge} [name=numbers]", "Tab")
    settle(page)


def test_a_lie_an_alarm_undo_a_branch_and_a_file_that_run_replays(visit, tmp_path) -> None:
    opened = visit()
    page = opened.page
    assert "Learning, round 1 of 6; 0 of 25 rounds played" in opened.text("#where")
    assert "No honest agent has an alarm" in opened.text("#alarms")
    lie(page, "4-0", "lie", "0.5, -1")
    said = [opened.text(f"#move-4-0 .{which}") for which in ("usual", "says")]
    assert said[0] != said[1]
    assert opened.text("#move-4-1 .usual") == opened.text("#move-4-1 .says")
    assert "messages you changed: 4 to 0" in page.get_attribute("#network svg", "aria-label")
    click(page, "#step")
    assert "round 2 of 6; 1 of 25" in opened.text("#where")
    lie(page, "4-1", "drop")
    click(page, "#step")
    assert "a neighbour said nothing" in opened.text("#alarms")
    assert "New alarms at 1 agent: 1." in opened.text("#announce")
    assert "with alarms: 1;" in page.get_attribute("#network svg", "aria-label")
    page.click("#alarms a >> text=MO-8")
    assert page.locator("#clause-MO-8[open]").count() == 1
    click(page, "#undo")
    assert "No honest agent has an alarm" in opened.text("#alarms")
    assert opened.text("#move-4-1 .says") == "nothing"  # it stands ready
    lie(page, "4-1", "honest")
    click(page, "#step")
    assert page.locator("#tree .tried .tried button").count() == 1
    click(page, "#phase")
    assert opened.text("#where").startswith("Keys, round 1 of")
    click(page, "#rest")
    assert opened.text("#end-title") == "Outcome c"
    assert "gradient" in opened.text("#way")
    with page.expect_download() as started:
        click(page, "#save")
    path = tmp_path / "moves.json"
    started.value.save_as(path)
    again = run(load_scenario(path))
    assert again.outcome == "c"
    assert recording_digest(again) == opened.text("#digest")
    assert "valid-ref run moves.json" in opened.text("#saved")


def test_wrong_forms_are_said_on_the_page_and_can_be_put_right(visit) -> None:
    opened = visit()
    page = opened.page
    lie(page, "4-2", "model", "much")
    assert "4 to 2: 'much' is no real number" in opened.text("#refused")
    assert page.get_attribute("#move-4-2 [name=numbers]", "aria-invalid") == "true"
    click(page, "#step")
    assert "0 of 25" in opened.text("#where")
    lie(page, "4-2", "model", "1")
    assert page.is_hidden("#refused")
    page.fill("#move-4-2 [name=numbers]", "2")
    page.press("#move-4-2 [name=numbers]", "Enter")  # plays the round
    settle(page)
    assert "1 of 25" in opened.text("#where")
    assert "(2, 0) more in model" in opened.text("#way")


def test_a_new_game_a_file_and_a_reload(visit) -> None:
    opened = visit()
    page = opened.page
    page.click("#new summary")
    page.fill("[name=graph]", "compleet:3")
    click(page, "#begin button")
    assert "complete" in opened.text("#refused")
    page.fill("[name=graph]", "cycle:4")
    page.fill("[name=byzantine]", "1")
    page.select_option("[name=validation]", "lean")
    click(page, "#begin button")
    assert page.locator(".move").count() == 2
    assert "validation: lean" in opened.text("#facts")
    click(page, "#step")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "1 of" in opened.text("#where")
    page.click("#new summary")
    content = json.dumps(RELAYED.as_json()).encode()
    page.set_input_files(
        "#file", {"name": "V5.json", "mimeType": "application/json", "buffer": content}
    )
    settle(page)
    assert "This counterexample is about V5" in opened.text("#promise")
    assert "source" in opened.text("#promise")
    assert opened.text("#move-1-0 .says") == "2/value = b"
    click(page, "#rest")
    assert "The promise V5 is broken" in opened.text("#end")


def test_all_is_done_with_the_keyboard(visit) -> None:
    opened = visit()
    page = opened.page
    page.focus("#move-4-0 [name=way]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settle(page)
    page.keyboard.press("Tab")
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    settle(page)
    assert "(0.5, 0) more in model" in opened.text("#way")
    assert page.evaluate("document.activeElement.closest('.move').id") == "move-4-0"
    page.focus("#tree [data-node='0']")
    page.keyboard.press("Enter")
    settle(page)
    assert "0 of 25" in opened.text("#where")
    assert page.evaluate("document.activeElement.dataset.node") == "0"  # where it was


def test_wide_and_narrow_light_and_dark(visit) -> None:
    opened = visit()
    page = opened.page
    page.click("#new summary")
    lie(page, "4-0", "other")
    lie(page, "4-1", "drop")
    lie(page, "4-0", "drop")
    click(page, "#step")
    lie(page, "4-2", "model", "x")
    for width, scheme in itertools.product((1280, 390), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(OVERFLOW) <= 0
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(DOUBLED) == []
