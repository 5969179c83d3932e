from __future__ import annotations

from thinktwice.rollouts.deploy_keys import Keyboard


def test_keys_mean_what_the_screen_says() -> None:
    held: list[str] = []
    keyboard = Keyboard({" ": lambda: held.append("hold"), "e": lambda: held.append("stop")}, armed=True)
    assert keyboard.wants_to_arm()
    assert not keyboard.wants_to_arm()
    for key in "a E?q":
        keyboard.press(key)
    assert held == ["hold", "stop"]
    assert keyboard.wants_to_arm()
    assert keyboard.stopping


def test_a_key_from_before_a_hold_does_not_lift_it() -> None:
    keyboard = Keyboard({}, armed=True)
    keyboard.forget()
    assert keyboard.wants_to_arm()  # a program's word stands until it is taken
    keyboard.press("a")
    keyboard.forget()
    assert not keyboard.wants_to_arm()
