import Dispatch
import Glibc

/// Signals as something that poll(2) sees.
struct SignalPipe {
    let descriptor: Int32
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32]) throws(HostFailure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0, fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else {
            throw .system(attempted: "make a pipe", errno: errno)
        }
        descriptor = ends[0]
        let writing = ends[1]
        // One that comes before its source is there waits for it.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        for number in numbers { sigaddset(&blocked, number) }
        sigprocmask(SIG_BLOCK, &blocked, nil)
        sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(writing, &byte, 1)
            }
            source.activate()
            return source
        }
    }

    /// What has come since.
    func take() -> [Int32] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return bytes.prefix(max(count, 0)).map(Int32.init)
    }
}
