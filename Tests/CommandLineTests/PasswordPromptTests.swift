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
        let failure = #expect(throws: CommandFailure.self) {
            try PasswordPrompt.ask("Password: ", on: terminal.slave)
        }
        #expect(failure?.status == .failed)
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

/// A terminal at whose other end the test sits. Typed text waits until the program makes the
/// terminal silent, as a user would.
final class PseudoTerminal: Sendable {
    struct Failure: Error {}

    let slave: Int32
    private let master: Int32

    init() throws {
        // The work of posix_openpt(3) and unlockpt(3), which glibc hides from Swift (TIOCSPTLCK, TIOCGPTPEER;
        // ioctl_tty(2)).
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        guard master >= 0, ioctl(master, 0x4004_5431, &isLocked) == 0 else { throw Failure() }
        slave = ioctl(master, 0x5441, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw Failure() }
    }

    deinit {
        close(slave)
        close(master)
    }

    var echoes: Bool {
        var settings = termios()
        return tcgetattr(slave, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Types once the prompt stands.
    func type(_ text: String) {
        let master = master
        Thread.detachNewThread {
            var poll = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard Foundation.poll(&poll, 1, 20_000) == 1 else { return }
            _ = Array(text.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
        }
    }

    /// Types at once.
    func press(_ keys: String) {
        _ = Array(keys.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    func resize(columns: UInt16, rows: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Everything up to the end of a line.
    func shown() -> String { shown { $0.last == UInt8(ascii: "\n") } }

    /// The output until the condition is met, for at most a minute.
    func shown(until isEnough: ([UInt8]) -> Bool) -> String {
        var shown: [UInt8] = []
        var poll = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        while !isEnough(shown), Foundation.poll(&poll, 1, 60_000) == 1 {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(master, &bytes, bytes.count)
            guard count > 0 else { break }
            shown += bytes.prefix(count)
        }
        return String(decoding: shown, as: UTF8.self)
    }
}
