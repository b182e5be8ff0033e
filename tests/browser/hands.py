"""The hands of a user: a mouse, or the keyboard alone. Both do the same, and count what they did."""

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 90  # from one control to the next
MOST_OPTIONS = 70
MOST_OFFERS = 8
Role = Literal["button", "link"]
# What is wrong with how the focus is shown; nothing where it has just left the last control of the page.
UNSEEN = """() => {
    const at = document.activeElement;
    if (at === document.body) return "";
    const box = at.getBoundingClientRect(), style = getComputedStyle(at);
    const isInSight =
        box.width > 1 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    return isInSight && isMarked ? "" : `${at.outerHTML.slice(0, 200)} in sight: ${isInSight}, marked: ${isMarked}`;
}"""
IS_BEFORE = "one => Boolean(document.activeElement.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_PRECEDING)"
IS_FOCUSED = "all => all.includes(document.activeElement)"


def labelled(page: Page, label: str) -> Locator:
    """The field whose label begins so; what is written in it counts as the label's text too."""
    return page.get_by_label(re.compile(rf"^\s*{re.escape(label)}")).and_(page.locator("input, textarea"))


class Hands(Protocol):
    """What a user does with a page."""

    page: Page

    def press(self, role: Role, name: str) -> None:
        """Press a link or a button."""

    def unfold(self, summary: str) -> None:
        """Open what is folded."""

    def write(self, label: str, text: str) -> None:
        """Replace what a field has."""

    def choose(self, label: str, option: str) -> None:
        """Choose of a list."""

    def take(self, offered: str) -> None:
        """Take a name that is offered under the field that is being written."""

    def begin(self) -> None:
        """Count from here on."""

    def took(self, *, clicks: int, keys: int) -> bool:
        """Whether no more clicks, or else keys, were needed so far than these; text that is typed is not counted."""


def hands_of(name: str, page: Page) -> Hands:
    """A ``mouse``, or else the keyboard."""
    return Mouse(page=page) if name == "mouse" else Keyboard(page=page)


@dataclass(kw_only=True)
class Mouse:
    """Clicks; text is typed all the same."""

    page: Page
    clicks: int = 0

    def press(self, role: Role, name: str) -> None:
        """Press a link or a button."""
        self._click(self.page.get_by_role(role, name=name, exact=True).first)

    def unfold(self, summary: str) -> None:
        """Open what is folded."""
        self._click(self.page.locator("summary", has_text=summary).first)

    def write(self, label: str, text: str) -> None:
        """Replace what a field has."""
        field = labelled(self.page, label)
        self._click(field)
        if field.get_attribute("type") == "datetime-local":
            field.fill(text)
        else:
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)

    def choose(self, label: str, option: str) -> None:
        """Choose of a list, which a click opens."""
        self.clicks += 2
        self.page.get_by_role("combobox", name=label, exact=True).select_option(option)

    def take(self, offered: str) -> None:
        """Take a name that is offered under the field that is being written."""
        self._click(self.page.get_by_role("listbox").get_by_role("option", name=offered))

    def begin(self) -> None:
        """Count from here on."""
        self.clicks = 0

    def took(self, *, clicks: int, keys: int) -> bool:
        """Whether no more clicks were needed than these."""
        return self.clicks <= clicks

    def _click(self, one: Locator) -> None:
        self.clicks += 1
        one.click()


@dataclass(kw_only=True)
class Keyboard:
    """Nothing but keys: Tab until the control has the focus, which must be in sight and marked all the way."""

    page: Page
    keys: int = 0  # without the letters of what is typed

    def press(self, role: Role, name: str) -> None:
        """Press a link or a button."""
        self.reach(self.page.get_by_role(role, name=name, exact=True))
        self.key("Enter")

    def unfold(self, summary: str) -> None:
        """Open what is folded."""
        self.reach(self.page.locator("summary", has_text=summary))
        self.key("Space")

    def write(self, label: str, text: str) -> None:
        """Replace what a field has."""
        field = labelled(self.page, label)
        self.reach(field)
        if field.get_attribute("type") == "datetime-local":
            self._write_time(text)
        else:
            self.key("Control+A")
            self.page.keyboard.type(text)

    def choose(self, label: str, option: str) -> None:
        """Choose of a list by arrows."""
        field = self.page.get_by_role("combobox", name=label, exact=True)
        self.reach(field)
        wanted, chosen = field.evaluate(
            "(list, text) => [[...list.options].findIndex((one) => one.text === text), list.selectedIndex]", option
        )
        assert 0 <= wanted < MOST_OPTIONS, f"{label} offers no {option}"
        for _ in range(abs(wanted - chosen)):
            self.key("ArrowDown" if wanted > chosen else "ArrowUp")
        assert field.evaluate("list => list.selectedOptions[0].text") == option

    def reach(self, wanted: Locator) -> None:
        """Tab until one of these has the focus; from the begin of a page first over its header, by its own link."""
        expect(wanted.first).to_be_attached()
        is_at_begin = self.page.evaluate("document.activeElement === document.body && !location.hash")
        if is_at_begin and not wanted.evaluate_all("all => all.some((one) => one.closest('header'))"):
            self._tab()
            expect(self.page.get_by_role("link", name="Skip to the content")).to_be_focused()
            self.key("Enter")
        way = "Shift+Tab" if wanted.first.evaluate(IS_BEFORE) else "Tab"
        passed: list[str] = []
        while not wanted.evaluate_all(IS_FOCUSED):
            assert len(passed) < MOST_TABS, f"{wanted} is not reached; passed {passed}"
            self._tab(way)
            passed.append(self.page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))

    def key(self, name: str) -> None:
        """Press one key."""
        self.keys += 1
        self.page.keyboard.press(name)

    def take(self, offered: str) -> None:
        """Take a name that is offered under the field that is being written, which keeps the focus."""
        option = self.page.get_by_role("listbox").get_by_role("option", name=offered)
        expect(option).to_be_visible()
        for _ in range(MOST_OFFERS):
            if option.get_attribute("aria-selected") == "true":
                break
            self.key("ArrowDown")
        self.key("Enter")

    def begin(self) -> None:
        """Count from here on."""
        self.keys = 0

    def took(self, *, clicks: int, keys: int) -> bool:
        """Whether no more keys were needed than these."""
        return self.keys <= keys

    def _tab(self, way: str = "Tab") -> None:
        self.key(way)
        assert not (unseen := self.page.evaluate(UNSEEN)), f"the focus cannot be seen: {unseen}"

    def _write_time(self, text: str) -> None:
        """Month, day, year, hour and minute, as the browser's own field takes them; the field goes on by itself."""
        day, _, clock = text.partition("T")
        year, month, date = day.split("-")
        hour, minute = (int(part) for part in clock.split(":"))
        self.page.keyboard.type(f"{month}{date}{year}")
        self.key("ArrowRight")
        self.page.keyboard.type(f"{hour % 12 or 12:02}{minute:02}{'PM' if hour >= 12 else 'AM'}")
