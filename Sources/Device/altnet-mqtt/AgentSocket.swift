import AgentModel
import AppProtocol
import Linux

final class AgentSocket {
    private let socket: ByteSocket
    private var splitter = LineSplitter()

    /// - Throws: `SystemError` if the connection fails.
    init(path: String) throws(SystemError) { socket = try ByteSocket(path: path, longestOutput: 1 << 20) }

    var waits: [(descriptor: Int32, readiness: Readiness)] { socket.waits(for: .readable) }

    func write(_ line: [UInt8]) { socket.write(line + [UInt8(ascii: "\n")]) }

    enum News {
        case line([UInt8])
        case ended(String)
    }

    func read() -> [News] {
        // Ignore a failure: the next read reports it.
        _ = socket.flush()
        var news: [News] = []
        // Read at most 64 KiB in one call, so that the broker's messages do not wait.
        for _ in 0..<4 {
            switch socket.read() {
            case .nothing: return news
            case .ended(let reason): return news + [.ended(reason)]
            case .bytes(let bytes): splitter.append(bytes[...])
            }
            while let next = splitter.next() {
                switch next {
                case .line(let line): news.append(.line(line))
                case .lineTooLong: return news + [.ended("its line was too long")]
                }
            }
        }
        return news
    }
}
