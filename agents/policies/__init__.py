"""Policies by the names of `catalog.POLICIES`; each module is imported only when it is used."""
