"""The page in a real browser: rounds, keys, alarms, themes, small windows, no complaints."""

import re
from pathlib import Path

import pytest

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
ACCESSIBILITY = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_the_slider_the_buttons_and_the_keys_move_the_round(visit) -> None:
    opened = visit("attacked", "#round=1")
    page = opened.page
    rounds = int(page.get_attribute("#slider", "max"))
    assert opened.text("#round-name").startswith("Round 1 of")
    for key, expected in (
        ("ArrowRight", "2"),
        ("ArrowRight", "3"),
        ("ArrowLeft", "2"),
        ("End", str(rounds + 1)),
        ("Home", "1"),
        ("]", "13"),
        ("[", "1"),
    ):
        page.keyboard.press(key)
        assert opened.text("#round-name b") == f"Round {expected}"
    page.click("#forward")
    assert opened.text("#round-name b") == "Round 2"
    page.fill("#slider", "5")
    assert opened.text("#round-name b") == "Round 6"
    assert "Round 6 of" in opened.text("#announce")
    assert "Round 6 of" in page.get_attribute("#slider", "aria-valuetext")


def test_playing_goes_on_until_it_is_paused(visit) -> None:
    opened = visit("attacked", "#round=1")
    page = opened.page
    page.select_option("#speed", "60")
    page.focus("body")
    page.keyboard.press("Space")
    for _attempt in range(100):
        if int(page.input_value("#slider")) > 3:
            break
        page.wait_for_timeout(50)
    assert int(page.input_value("#slider")) > 3
    assert page.get_attribute("#play", "aria-label") == "Pause (space)"
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-label") == "Play (space)"
    stopped = page.input_value("#slider")
    page.wait_for_timeout(120)
    assert page.input_value("#slider") == stopped


def test_equivocation_and_alarms_are_told_with_their_clause(visit) -> None:
    opened = visit("attacked", "#round=1&agent=0")
    page = opened.page
    assert "Agent 4 says 2 different things" in opened.text(".round-card")
    assert page.locator(".word-line.altered").count() >= 4
    labels = set(page.locator(".word.altered text").all_text_contents())
    assert labels == {"A", "B"}
    page.keyboard.press("n")
    page.keyboard.press("End")
    assert page.locator(".node.alarmed").count() == 4
    card = opened.text(".agent-card")
    assert "INCONSISTENT_HASHES" in card
    assert "ends invalid" in card
    page.locator(".agent-card a.clause-link", has_text="LV-7").first.click()
    assert "INCONSISTENT_HASHES" in opened.text("#clause-LV-7")
    assert opened.page.evaluate("document.activeElement.closest('#clause-LV-7') !== null")


def test_an_agent_is_chosen_by_mouse_by_keys_and_by_name(visit) -> None:
    page = visit("attacked").page
    page.locator(".node").nth(1).click()
    assert page.input_value("#agent-0") == "1"
    page.locator(".node").nth(1).focus()
    page.keyboard.press("ArrowRight")
    assert page.input_value("#agent-0") == "2"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Agent 2")
    page.select_option("#agent-0", "3")
    assert page.locator(".node.chosen").get_attribute("aria-label").startswith("Agent 3, honest")
    assert page.locator(".node[tabindex='0']").count() == 1


def test_two_runs_are_under_tabs(visit) -> None:
    opened = visit("both")
    page = opened.page
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Honest"
    assert "Outcome a" in opened.text("#run-0")
    assert not page.locator("#run-1").is_visible()
    page.focus("#tab-0")
    page.keyboard.press("ArrowRight")
    assert page.locator("#run-1").is_visible()
    assert "Outcome c" in opened.text("#run-1")
    assert page.locator("#run-1 canvas").count() == 3


def test_an_erratum_tells_its_story_beside_its_runs(visit) -> None:
    opened = visit("P01")
    story = opened.text("#story")
    assert "What went wrong" in story
    assert story.index("It goes wrong.") < story.index("No promise is broken.")
    left, right = (opened.page.locator(f"#run-{number}").bounding_box() for number in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert "holds 'a'" in opened.text("#run-0")
    assert opened.page.locator("#run-1 .node.alarmed").count() == 2
    assert opened.page.locator(".strip .tick.alarm").count() == 1
    assert "agents 0 and 1" in opened.text("#story table")
    counted = visit("P18")
    assert "0.148" in counted.text("#story")
    assert not counted.page.locator("#player").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_are_legible_and_can_be_changed(visit, scheme: str) -> None:
    for name in ("attacked", "P01"):
        page = visit(name, color_scheme=scheme).page
        dark = "document.body && getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(dark)
        assert page.evaluate(CONTRAST) == []
        page.click("#theme")
        assert page.evaluate(dark) != before
        assert page.evaluate(CONTRAST) == []


def test_reduced_motion_is_respected(visit) -> None:
    page = visit("attacked", reduced_motion="reduce").page
    page.keyboard.press("End")
    animated = "[...document.querySelectorAll('*')].filter((n) => n.getAnimations().length).length"
    assert page.evaluate(animated) == 0
    still = "getComputedStyle(document.querySelector('.word-line')).transitionDuration"
    assert page.evaluate(still) in {"0s", ""}


@pytest.mark.parametrize("width", [360, 1000, 1600])
def test_nothing_is_wider_than_the_window(visit, width: int) -> None:
    for name in ("crowd", "P01"):
        page = visit(name, viewport={"width": width, "height": 800}).page
        assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_stops_a_screen_reader_or_a_keyboard(visit, width: int) -> None:
    for name in ("demo", "recording", "P01"):
        page = visit(name, viewport={"width": width, "height": 900}).page
        assert page.evaluate(ACCESSIBILITY) == []
        page.keyboard.press("End")
        assert page.evaluate(ACCESSIBILITY) == []
        assert page.get_attribute("#announce", "aria-live") == "polite"


def test_the_order_of_focus_is_that_of_the_page(visit) -> None:
    """Every stop of the Tab key is visible and stands after the one before in the document."""
    page = visit("attacked", "#round=13").page
    stops = page.evaluate(
        "window.stops = []; addEventListener('focusin', (event) => stops.push(event.target))"
    )
    for _step in range(30):
        page.keyboard.press("Tab")
    stops = page.evaluate("""stops.map((node, place) => [
        place === 0 || Boolean(stops[place - 1].compareDocumentPosition(node) & 4),
        node.getClientRects().length > 0])""")
    assert len(stops) == 30
    assert all(after and seen for after, seen in stops)


def test_the_address_follows_and_leads(visit) -> None:
    opened = visit("both", "#run=1&round=6&agent=3")
    page = opened.page
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Attacked"
    assert opened.text("#round-name b") == "Round 6"
    assert page.input_value("#agent-1") == "3"
    page.keyboard.press("ArrowRight")
    page.select_option("#agent-1", "2")
    opened.until("location.hash === '#run=1&round=7&agent=2'")
    page.click("#tab-0")
    opened.until("location.hash.startsWith('#run=0&round=7&')")
    page.evaluate("location.hash = '#run=1&round=3&agent=0'")
    opened.until("document.querySelector('#round-name b').textContent === 'Round 3'")
    assert page.locator("#run-1").is_visible()
    assert not page.locator("#notice").is_visible()


def test_a_wrong_address_says_so(visit) -> None:
    opened = visit("both", "#round=999")
    for address, said in (
        ("#round=999", "there is no round 999; rounds are 1 to"),
        ("#round=0", "there is no round 0"),
        ("#agent=77", "there is no agent 77; agents are 0 to 4"),
        ("#run=2", "there is no run 2; runs are 0 to 1"),
        ("#round=x", "“round=x” is no number"),
        ("#colour=1", "there is no “colour”"),
        ("#tour=1", "this page has no tour"),
        ("#clause-NOPE", "there is no clause NOPE"),
        ("#round=3&round=5", "“round” is there more than once"),
    ):
        opened.page.evaluate(f"location.hash = '{address}'")
        opened.until("!document.getElementById('notice').hidden")
        assert said in opened.text("#notice")
        assert opened.page.get_attribute("#notice", "role") == "alert"
        opened.page.evaluate("location.hash = '#round=2'")
        opened.until("document.getElementById('notice').hidden")


def test_a_step_of_the_tour_has_an_address(visit) -> None:
    opened = visit("demo", "#tour=4")
    assert opened.text("#tour-title") == "The lie"
    opened.page.keyboard.press("ArrowRight")
    opened.until("location.hash === '#run=0&round=4&agent=2&tour=4'")
    shared = visit("demo", "#run=1&round=7&agent=5&tour=4")
    assert shared.text("#tour-title") == "The lie"
    assert shared.text("#round-name b") == "Round 7"
    assert shared.page.input_value("#agent-1") == "5"
    opened.page.click("#tour-next")
    opened.until("location.hash.endsWith('tour=5')")
    opened.page.click("#tour-close")
    opened.until("!location.hash.includes('tour')")


@pytest.mark.parametrize("width", [360, 1280])
def test_phases_keep_their_words_and_wide_tables_say_so(visit, width: int) -> None:
    page = visit("demo", "#round=1", viewport={"width": width, "height": 800}).page
    names = "[...document.querySelectorAll('.phase-name')]"
    assert page.evaluate(f"{names}.every((n) => n.scrollWidth <= n.clientWidth + 1)")
    names = page.locator(".phase-name").all_inner_texts()
    assert [name.split()[0] for name in names] == [
        "Learning",
        "Keys",
        "Hashes",
        "Estimates",
        "Agreement",
    ]
    table = page.locator("#run-0 [data-part=causes] .scroll")
    if width < 500:
        assert "wide" in table.get_attribute("class")
        assert table.get_attribute("tabindex") == "0"
        hint = "getComputedStyle(document.querySelector('.scroll.wide'), '::before').content"
        assert "scroll sideways" in page.evaluate(hint)
        assert table.locator("td").nth(2).bounding_box()["width"] > 90
    else:
        assert "wide" not in table.get_attribute("class")


def test_the_demo_opens_on_the_attacked_run_with_a_tour_to_the_outcome(visit) -> None:
    opened = visit("demo")
    page = opened.page
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "One agent cheats"
    assert "What VALID is" in opened.text("#tour")
    assert not page.locator("#tour-back").is_enabled()
    titles, pointed = [], set()
    for _step in range(20):
        titles.append(opened.text("#tour-title"))
        part = page.evaluate("document.querySelector('.pointed')?.dataset.part || ''")
        pointed.add(part)
        if part:
            assert 0 <= page.locator(".pointed").bounding_box()["y"] < 500
        if titles[-1] == "The lie":
            assert "Round 3 of" in opened.text("#announce")
            assert page.locator("#run-0 .graph .word-line.altered").count() == 3
        if opened.text("#tour-next") == "End of the tour":
            break
        page.click("#tour-next")
    assert titles[-1] == "How it ends"
    assert {"harm", "checks", "outcome", "network", "learning"} <= pointed
    assert "Outcome c" in opened.text("#tour")
    page.click("#tour-back")
    assert "agreement" in opened.text("#tour-title")
    page.keyboard.press("Escape")
    assert not page.locator("#tour").is_visible()
    assert page.evaluate("document.activeElement.id") == "tour-open"
    page.keyboard.press("Enter")
    assert opened.text("#tour-title") == "What VALID is"


def test_harm_is_side_by_side_and_the_outcome_comes_after_it(visit) -> None:
    page = visit("demo", "#round=1").page
    assert not page.locator("#tour").is_visible()
    off, on = (page.locator("[data-part=harm] .side").nth(place) for place in (0, 1))
    assert "Validation off" in off.inner_text()
    assert "nobody is deceived" in on.inner_text()
    left, right = off.bounding_box(), on.bounding_box()
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    harm, outcome = (
        page.locator(f"#run-0 [data-part={part}]").bounding_box()["y"]
        for part in ("harm", "outcome")
    )
    assert page.locator("#run-0 [data-part=network]").bounding_box()["y"] < harm < outcome
    assert page.locator(".end.kept").count() == page.locator(".end.dropped").count() == 7


def test_an_alarm_leads_to_its_cause_and_a_lie_to_its_alarms(visit) -> None:
    opened = visit("attacked", "#round=1")
    page = opened.page
    lie = page.locator(".round-card .cheat")
    assert "no single neighbour can see it" in lie.inner_text()
    lie.locator("button.effect").click()
    assert page.locator(".round-card .alarm").count() >= 1
    assert int(page.input_value("#slider")) > 11
    assert page.locator(".node.chosen.alarmed").count() == 1
    page.locator(".agent-card button.cause").first.click()
    assert page.input_value("#slider") == "0"
    assert page.locator(".graph .pointed-line").count() == 1
    assert page.locator(".sequence .pointed-line").count() == 1
    page.keyboard.press("ArrowRight")
    assert page.locator(".graph .pointed-line").count() == 0
    table = page.locator("[data-part=causes] tbody tr")
    assert "different models to different neighbours" in table.nth(0).inner_text()
    table.nth(0).locator("button.effect").click()
    assert page.locator(".round-card .alarm").count() >= 1
    page.locator("[data-part=alarms] button.cause").first.click()
    assert page.locator(".graph .pointed-line").count() == 1


def test_the_matrix_says_whose_lie_breaks_a_relation(visit) -> None:
    opened = visit("demo", "#round=1")
    assert "Agent 1 (R): the lie of agent 2" in opened.text("#run-0 .blame")
    assert "Agent 2 (H): its own lie" in opened.text("#run-0 .blame")
    cell = opened.page.locator("#run-0 td.fail", has_text="R").first
    assert "because of what agent 2 said" in cell.get_attribute("title")
    opened.page.locator("#run-0 .blame button").first.click()
    assert opened.text(".round-card h2").startswith("Learning, round 1")


def test_the_sequence_follows_agent_and_round(visit) -> None:
    opened = visit("attacked", "#round=6&agent=4")
    page = opened.page
    told = page.get_attribute(".sequence", "aria-label")
    assert told.startswith("Agent 4 and its neighbours in rounds 4 to 8.")
    assert "round 6: 4 to 0 model" in told
    assert page.locator(".sequence .word-line.altered").count() == 4 * 5
    assert page.locator(".sequence .life").count() == 5
    page.select_option("#agent-0", "0")
    assert "to agent 0" in opened.text(".sequence-card h2")
    assert page.locator(".sequence .word-line.altered").count() == 5


def test_a_message_that_diverges_is_told_apart_from_what_honest_code_says(visit) -> None:
    opened = visit("diverging", "#round=6&agent=0")
    page = opened.page
    wrong = page.locator(".heard tr", has_text="from 2")
    assert wrong.locator(".tag").inner_text() == "≠"
    assert "not what the specification demands" in wrong.locator(".tag").get_attribute("title")
    assert page.locator(".heard .tag", has_text="=").count() == 3
    assert page.locator(".graph .word-line.altered").count() == 4
    assert page.locator(".strip .tick.diverge").count() == 2
    assert "round 6: 2 to 0 model" in page.get_attribute(".sequence", "aria-label")
    page.keyboard.press("ArrowRight")
    assert page.locator(".heard .tag", has_text="≠").count() == 3
    later = page.locator(".heard tr", has_text="from 2").locator(".tag")
    assert later.inner_text() == "?"
    assert "left the specification in round 6" in later.get_attribute("title")


@pytest.mark.parametrize("name", ["attacked", "diverging"])
def test_what_is_announced_is_in_sentences(visit, name: str) -> None:
    opened = visit(name, "#round=1")
    heard = set()
    for key in ("n", "n", "n", "End", "Home", "p"):
        opened.page.keyboard.press(key)
        heard.add(opened.page.text_content("#announce"))
    assert len(heard) > 2
    for text in heard:
        assert re.search(r"\.\s*\.", text) is None
        assert text.endswith(".")
        assert all(part[0].isupper() for part in text.split(". "))
    for part in ("#run-0 .plot", ".sequence"):
        label = opened.page.locator(part).first.get_attribute("aria-label")
        assert all(said[0].isupper() for said in label.split(". "))


def test_a_page_opens_on_the_divergence_that_comes_first(visit) -> None:
    opened = visit("diverging")
    page = opened.page
    assert opened.text("#round-name b") == "Round 6"
    assert page.input_value("#agent-0") == "2"
    page.keyboard.press("Home")
    assert "Everybody says what it should" in opened.text(".round-card")
    page.keyboard.press("End")
    assert "Everybody" not in opened.text(".round-card")
    assert "Agents 0, 1, 2, 3 and 4 left the specification before" in opened.text(".round-card")


def test_divergences_without_alarms_have_their_lanes_and_figures_their_digits(visit) -> None:
    opened = visit("diverging")
    alarms = opened.text("[data-part=alarms]")
    assert "No honest agent raises an alarm" in alarms
    assert opened.page.locator(".lane-track .diverge").count() == 5
    assert "with those that diverge" in opened.text("[data-part=learning]")
    figures = re.findall(r"at the end: (\S+) [≤>] (\S+),", opened.text("[data-part=learning]"))
    assert len(figures) == 2
    assert float(figures[0][0]) > float(figures[0][1])


def test_a_divergence_is_marked_wherever_its_round_is_shown(visit) -> None:
    opened = visit("recording", "#round=1")
    page = opened.page
    assert page.locator(".strip .tick.diverge").count() == 1
    assert page.locator(".graph .diverge-mark").count() == 1
    assert page.locator(".sequence .diverge-mark").count() == 1
    assert page.locator(".lane-track .diverge").count() == 1
    happenings = page.locator(".round-card li")
    assert "leaves the specification here" in happenings.nth(0).inner_text()
    assert "diverge" in happenings.nth(0).get_attribute("class")
    happenings.nth(0).locator("button").click()
    assert page.locator(".round-card .alarm").count() >= 1
    assert page.locator(".round-card .diverge").count() == 0
    page.select_option("#agent-0", "4")
    assert "leaves the specification in round 1" in opened.text(".agent-card")
    boxes = [
        page.locator(f"#run-0 {part}").bounding_box()["y"]
        for part in ("section.bad", "[data-part=outcome]")
    ]
    assert boxes == sorted(boxes)
    page.locator("section.bad button").click()
    assert page.input_value("#slider") == "0"
