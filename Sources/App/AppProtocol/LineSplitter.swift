import AgentModel

/// Cuts a stream of bytes into lines at line feeds, in bounded memory.
public struct LineSplitter: Sendable {
    private let maximumLength: Int
    private var buffer: [UInt8] = []
    /// Where the bytes that have not been taken begin.
    private var start = 0
    /// How far a line feed has been looked for.
    private var scanned = 0
    private var isOverlong = false

    public init(maximumLength: Int = ProtocolLimits.lineLength) { self.maximumLength = maximumLength }

    public enum Output: Sendable, Equatable {
        /// One line without its line feed, never empty.
        case line([UInt8])
        /// A line exceeds the maximum. It is said once; whatever comes after is dropped.
        case lineTooLong
    }

    public mutating func append(_ bytes: some Sequence<UInt8>) {
        guard !isOverlong else { return }
        buffer.append(contentsOf: bytes)
    }

    /// The next complete line, or nil until more bytes come. Empty lines are skipped.
    public mutating func next() -> Output? {
        guard !isOverlong else { return nil }
        while let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = buffer[start..<end]
            guard line.count <= maximumLength else { return giveUp() }
            start = end + 1
            scanned = start
            if !line.isEmpty, line != [UInt8(ascii: "\r")] { return .line(Array(line)) }
        }
        scanned = buffer.count
        guard buffer.count - start <= maximumLength else { return giveUp() }
        forgetTaken()
        return nil
    }

    /// A line can hold a password: it is not left lying in a buffer that lives on.
    private mutating func forgetTaken() {
        guard start > 0 else { return }
        let rest = Array(buffer[start...])
        buffer.withUnsafeMutableBytes { wipe($0) }
        buffer = rest
        scanned -= start
        start = 0
    }

    /// What came after the last line feed, for a stream that has ended; nil where that is nothing. To be taken once, after
    /// ``next()`` has returned nil.
    public mutating func last() -> Output? {
        guard !isOverlong else { return nil }
        let line = Array(buffer[start...])
        start = buffer.count
        scanned = start
        return line.isEmpty || line == [UInt8(ascii: "\r")] ? nil : .line(line)
    }

    private mutating func giveUp() -> Output {
        isOverlong = true
        buffer = []
        start = 0
        scanned = 0
        return .lineTooLong
    }
}
