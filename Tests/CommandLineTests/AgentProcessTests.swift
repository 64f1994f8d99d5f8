import Testing

@testable import altnet

@Suite struct AgentProcessTests {
    @Test func isKnownAsAServiceStartsIt() {
        #expect(AgentProcess(arguments: ["agent"]).map(\.settings) == .some(nil))
        #expect(
            AgentProcess(arguments: ["agent", "--settings", "/etc/altnet/altnet.conf"])?.settings
                == "/etc/altnet/altnet.conf")
    }

    @Test(arguments: [
        [], ["status"], ["agent", "--help"], ["agent", "--check-config"], ["agent", "--settings"],
        ["agent", "--settings", "--help"], ["agent", "--settings", "a", "--check-config"],
        ["--settings", "a", "agent"],
    ]) func everythingElseGoesTheUsualWay(arguments: [String]) {
        #expect(AgentProcess(arguments: arguments).map(\.settings) == nil)
    }
}
