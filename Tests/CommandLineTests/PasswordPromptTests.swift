import AgentModel
import Foundation
import Testing

@testable import altnet

/// The prompt on a terminal of its own.
@Suite struct PasswordPromptTests {
    @Test(arguments: [
        ("12345678\r", "12345678"), ("12345678\n", "12345678"), ("wrong\u{15}right\r", "right"),
        ("abx\u{7f}c\r", "abc"), ("\u{7f}\u{8}a\u{4}", "a"), ("\r", ""),
    ])
    func readsALineAndShowsNothing(typed: String, password: String) async throws {
        let terminal = try PseudoTerminal()
        terminal.type(typed)
        #expect(try PasswordPrompt.ask("Password: ", on: terminal.slave) == Secret(text: password))
        #expect(terminal.shown() == "Password: \r\n")
        #expect(terminal.echoes)
    }

    @Test func controlCGivesUp() async throws {
        let terminal = try PseudoTerminal()
        terminal.type("1234\u{3}")
        #expect(throws: CommandFailure(.failed, "no password was given")) {
            try PasswordPrompt.ask("Password: ", on: terminal.slave)
        }
        #expect(terminal.echoes)
    }

    @Test func endlessInputIsCut() async throws {
        let terminal = try PseudoTerminal()
        terminal.type(String(repeating: "x", count: 2000) + "\r")
        #expect(try PasswordPrompt.ask("Password: ", on: terminal.slave).count == 512)
    }

    @Test func somethingElseIsNoTerminal() throws {
        let null = open("/dev/null", O_RDWR)
        defer { close(null) }
        #expect(throws: CommandFailure.self) { try PasswordPrompt.ask("Password: ", on: null) }
    }
}
