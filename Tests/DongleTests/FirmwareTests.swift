import AgentModel
import Testing

@testable import Dongle
