"""What people say when they need something without naming it.

Each need lists the sentences that stand for it; the kinds that serve it name it in their `affordances`.  The
rule-based reasoner reads the same table, so the implicit form tests exploration and grounding, not common sense:
that is what a language model is for.
"""

from __future__ import annotations

from collections.abc import Mapping

NEEDS: Mapping[str, tuple[str, ...]] = {
    "fruit": ("I would like a piece of fruit", "bring me some fresh fruit"),
    "potassium": ("my muscles cramp and I need potassium", "a monkey would love this snack"),
    "toast": ("I need something to put in the toaster", "I want to make a sandwich"),
    "calcium": ("I want something made in a dairy to slice", "something a mouse would steal"),
    "drink protein": ("I want a drink rich in protein", "I need something white to pour over my oats"),
    "breakfast": ("I want crunchy flakes for breakfast", "the children ask for their cornflakes"),
    "hot drink": ("I need something to drink coffee from", "I want to hold a hot cocoa"),
    "soup": ("I need something to eat soup from", "find what I can mix a salad in"),
    "serve": ("I need something flat to serve a pizza slice on", "I want to set out a portion of dinner"),
    "carry water": ("I am going hiking and want to take water along", "I need a drink for the gym"),
    "celebrate": ("we are celebrating and want to open something from the cellar", "pour us a merlot"),
    "fry": ("I want to fry an egg", "I need something to make pancakes"),
    "boil": ("I want to boil spaghetti", "I need something to cook a stew"),
    "tea water": ("I want to heat water for tea", "put the tea on"),
    "make toast": ("I want to brown slices of loaf", "I need the machine that makes toast"),
    "read": ("I am bored and want to read a story", "I want to enjoy a novel"),
    "email": ("I have to send an email", "I need to work on my spreadsheet"),
    "geography": ("show me where the continents are", "I want to learn geography"),
    "reading light": ("it is too dark to see my page", "I need more light on the desk at night"),
    "tell time": ("I do not want to oversleep tomorrow", "I need to know what time it is"),
    "flowers": ("I was given roses and need to put them in something", "where can I arrange cut flowers"),
    "water plants": ("something here is alive and needs watering", "I want to see something that grows leaves"),
    "candlelight": ("the power is out and I have matches", "I want a romantic flame"),
    "photograph": ("I want to take a picture", "I would like to photograph the sunset"),
    "music": ("I want to listen to the news and music", "I want to hear the weather forecast"),
    "award": ("show me what the champion won", "I want to see the prize of the tournament"),
    "rest head": ("my back hurts and I want something soft to lean on", "I need something soft behind my neck"),
    "dry off": ("I just had a shower and I am dripping", "I am soaked and need to dry off"),
    "wash hair": ("my hair is greasy", "I need to wash my hair"),
    "toilet paper": ("the bathroom ran out of paper", "I need to wipe and nothing is left"),
    "hug": ("the child is sad and wants to hug something furry", "I need something cuddly for the baby"),
    "play cars": ("the boy wants to play racing", "I want something with four wheels to push around"),
    "play catch": ("let us play catch", "I want something to kick and bounce"),
    "carry laundry": ("I need something woven to carry the laundry in", "what can I collect the dirty clothes in"),
    "pack": ("I am moving out and need to pack", "I want to ship a parcel"),
    "sun": ("the sun burns on my head", "I need something to shade my face"),
}
"""Need, then sentences; no two needs share a sentence."""
