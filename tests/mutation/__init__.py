"""Mutation testing of the project: `python -m tests.mutation`. Not a part of the test suite."""
