"""Planning: from an agent's answer to goals and a plan of tasks that the robot can carry out."""
