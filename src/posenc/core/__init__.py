"""Formulas and the contract: arrays, positions, frequencies, rotations, mechanisms."""
