import AppProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads a line from the terminal, which shows it as it is typed.
enum LinePrompt {
    /// - Throws: `CommandFailure` without a terminal, and where the input ends.
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
            guard count > 0 else { throw CommandFailure(.failed, "nothing was answered") }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            if line.count < ProtocolLimits.portalValueLength { line.append(byte) }
        }
    }
}
