import AgentModel
