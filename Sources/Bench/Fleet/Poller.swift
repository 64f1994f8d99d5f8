import AgentModel
import CLinux
import Glibc

/// Waits for thousands of file descriptors at once (epoll(7)). Each descriptor has a number.
final class Poller {
    private let descriptor: Int32
    private var events = [epoll_event](repeating: epoll_event(), count: 1024)

    init() throws(SystemError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError("make an epoll", errno: errno) }
    }

    deinit { close(descriptor) }

    struct Interest: Equatable {
        let descriptor: Int32
        /// Whether to wait until the descriptor is writable; otherwise until it is readable.
        var isForWriting: Bool
    }

    func set(_ interest: Interest, number: Int, isNew: Bool) {
        var event = epoll_event()
        event.events = (interest.isForWriting ? EPOLLOUT : EPOLLIN).rawValue
        event.data.u64 = UInt64(number)
        _ = epoll_ctl(descriptor, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, interest.descriptor, &event)
    }

    /// Removes a descriptor. Call this before you close the descriptor.
    func remove(_ interest: Interest) {
        var event = epoll_event()
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, interest.descriptor, &event)
    }

    /// Waits until descriptors are ready.
    /// - Parameter limit: time limit in milliseconds.
    /// - Returns: numbers of the ready descriptors; empty after the limit.
    func wait(_ limit: Int) -> [Int] {
        let count = epoll_wait(descriptor, &events, Int32(events.count), Int32(clamping: limit))
        return events.prefix(Int(max(0, count))).map { Int($0.data.u64) }
    }
}

/// Numbers in the order of their due times, stored as a binary heap.
struct Agenda {
    private var entries: [(due: Int64, number: Int)] = []

    mutating func add(_ number: Int, due: Int64) {
        entries.append((due, number))
        var index = entries.count - 1
        while index > 0, entries[(index - 1) / 2].due > entries[index].due {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    var next: Int64? { entries.first?.due }

    mutating func removeFirst(dueBy now: Int64) -> Int? {
        guard let first = entries.first, first.due <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            var index = 0
            while true {
                let children = [2 * index + 1, 2 * index + 2].filter { $0 < entries.count }
                guard let child = children.min(by: { entries[$0].due < entries[$1].due }),
                    entries[child].due < entries[index].due
                else { break }
                entries.swapAt(index, child)
                index = child
            }
        }
        return first.number
    }
}
