import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Linux

@Suite(.timeLimit(.minutes(10))) struct DiskLoopTests {
    @Test func whatIsGivenIsDoneInOrder() {
        let order = Mutex<[Int]>([])
        let backlog = Backlog(capacity: 1000)
        for number in 0..<500 { backlog.add { _ in order.withLock { $0.append(number) } } }
        backlog.finish()
        #expect(order.withLock { $0 } == Array(0..<500))
    }

    @Test func whatIsTooMuchIsLeftOutAndTold() {
        let gate = DispatchSemaphore(value: 0)
        let told = Mutex<[Int]>([])
        let backlog = Backlog(capacity: 2)
        DiskLoop.perform { gate.wait() }
        for _ in 0..<5 { backlog.add { lost in told.withLock { $0.append(lost) } } }
        gate.signal()
        backlog.finish()
        backlog.add { lost in told.withLock { $0.append(lost) } }
        backlog.finish()
        #expect(told.withLock { $0 } == [0, 0, 3])
    }

    /// A log that is not read must not hold up the key file.
    @Test func aStreamWithoutAReaderHoldsUpNoOtherWork() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try fill(ends[1])
        let stream = LineStream(descriptor: ends[1], capacity: 8) { Array("\($0) lost\n".utf8) }
        for number in 0..<20 { stream.put(Array("line \(number)\n".utf8)) }
        let backlog = Backlog(capacity: 1)
        let isDone = Mutex(false)
        backlog.add { _ in isDone.withLock { $0 = true } }
        backlog.finish()
        #expect(isDone.withLock { $0 })
        // And once it is read, all that was not left out is there.
        try empty(ends[0])
        stream.flush(within: .seconds(30))
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        let lines = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n")
        #expect(lines == (0..<8).map { "line \($0)" } + ["12 lost"])
    }

    @Test func aSocketWithoutAReaderHoldsUpNoOtherWork() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let stream = LineStream(descriptor: ends[1], capacity: 1000) { _ in [] }
        let line = [UInt8](repeating: 1, count: 4096)
        for _ in 0..<200 { stream.put(line) }
        let backlog = Backlog(capacity: 1)
        backlog.add { _ in }
        backlog.finish()
        var rest = 200 * line.count
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while rest > 0 {
            let count = read(ends[0], &buffer, buffer.count)
            try #require(count > 0)
            rest -= count
        }
        #expect(rest == 0)
    }

    private func fill(_ pipe: Int32) throws {
        try #require(fcntl(pipe, F_SETFL, O_NONBLOCK) == 0)
        while write(pipe, [UInt8](repeating: 0, count: 4096), 4096) > 0 {}
        try #require(fcntl(pipe, F_SETFL, 0) == 0)
    }

    private func empty(_ pipe: Int32) throws {
        // Exactly what `fill` put there: the lines come after it.
        var left: Int32 = 0
        try #require(ioctl(pipe, UInt(FIONREAD), &left) == 0)
        var buffer = [UInt8](repeating: 0, count: Int(left))
        while left > 0 {
            let count = read(pipe, &buffer, Int(left))
            try #require(count > 0)
            left -= Int32(count)
        }
    }
}
