"""The validator: does a task's result hold what was asked of it?"""
