"""Measurements that are printed, never asserted: each module is a program."""
