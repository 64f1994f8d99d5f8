import AgentModel
import AppProtocol
import Glibc
import Terminal

enum PasswordPrompt {
    /// Maximum length of a password in bytes, enough for a pairing code from a scanner.
    private static let maximumLength = 512

    /// - Throws: `CommandFailure` without a terminal, or after Control-C.
    static func ask(_ prompt: String) throws -> Secret {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else {
            throw CommandFailure(.badData, "there is no terminal to ask for the password: use --password-stdin")
        }
        defer { close(terminal) }
        return try ask(prompt, on: terminal)
    }

    /// Asks for a password without showing it. Handles backspace, Control-U to clear the line and Control-C to cancel.
    static func ask(_ prompt: String, on terminal: Int32) throws -> Secret {
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else {
            throw CommandFailure(.badData, "the terminal cannot hide the password: use --password-stdin")
        }
        // Disable signals: Control-C would end the program and leave the terminal without echo.
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
            throw CommandFailure(.badData, "the terminal cannot hide the password: use --password-stdin")
        }
        defer {
            tcsetattr(terminal, TCSAFLUSH, &before)
            show("\n", on: terminal)
        }
        show(prompt, on: terminal)
        return try readLine(from: terminal)
    }

    private static func readLine(from terminal: Int32) throws -> Secret {
        var line: [UInt8] = []
        line.reserveCapacity(maximumLength)
        defer { line.withUnsafeMutableBytes { wipe($0) } }
        while true {
            var byte: UInt8 = 0
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            switch byte {
            case _ where count <= 0, 0x03: throw CommandFailure(.failed, "no password was given")
            case 0x04, UInt8(ascii: "\n"), UInt8(ascii: "\r"): return Secret(line)
            case 0x7f, 0x08: _ = line.popLast()
            case 0x15: line.removeAll(keepingCapacity: true)
            case _ where line.count < maximumLength: line.append(byte)
            default: break
            }
        }
    }

    private static func show(_ text: String, on terminal: Int32) {
        // Ignore errors: the answer can be read without the prompt.
        _ = Array(text.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }
}

enum LinePrompt {
    /// - Throws: `CommandFailure` without a terminal, or at the end of the input.
    static func ask(_ prompt: String) throws -> String {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else {
            throw CommandFailure(.badData, "there is no terminal to ask on: use --answer")
        }
        defer { close(terminal) }
        return try ask(prompt, on: terminal)
    }

    static func ask(_ prompt: String, on terminal: Int32) throws -> String {
        try? TextOutput(descriptor: terminal).put(prompt)
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw CommandFailure(.failed, "the input ended without an answer") }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            if line.count < ProtocolLimits.portalValueLength { line.append(byte) }
        }
    }
}
