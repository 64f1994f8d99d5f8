import AgentModel
import Testing

@testable import Netlink

/// The path as its readers see it.
@Suite(.timeLimit(.minutes(1))) struct ChangesTests {
    private func path(_ flags: ReachabilityFlags) -> NetworkPath { NetworkPath(flags: flags, uplink: nil) }

    @Test func theCurrentPathComesFirst() async {
        let board = PathBoard()
        board.show(path(.reachable))
        var changes = board.changes().makeAsyncIterator()
        #expect(await changes.next() == path(.reachable))
    }

    @Test func nothingIsToldBeforeItIsKnown() async {
        let board = PathBoard()
        var changes = board.changes().makeAsyncIterator()
        #expect(board.path == nil)
        async let first = changes.next()
        board.show(.none)
        #expect(await first == NetworkPath.none)
    }

    @Test func onlyChangesAreTold() async {
        let board = PathBoard()
        board.show(.none)
        var changes = board.changes().makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        board.show(.none)
        board.show(path(.reachable))
        #expect(await changes.next() == path(.reachable))
        // There and back while nobody reads: the next that is told differs.
        board.show(.none)
        board.show(path(.reachable))
        board.show(path(.isDirect))
        #expect(await changes.next() == path(.isDirect))
        board.show(.none)
        board.show(path(.isDirect))
        async let next = changes.next()
        board.show(.none)
        #expect(await next == NetworkPath.none)
    }

    @Test func everybodyHasASequenceOfHisOwn() async {
        let board = PathBoard()
        var first = board.changes().makeAsyncIterator()
        var second = board.changes().makeAsyncIterator()
        board.show(path(.reachable))
        #expect(await first.next() == path(.reachable))
        #expect(await second.next() == path(.reachable))
    }

    @Test func theyEndWithTheMonitorAndWithTheTask() async {
        var board: PathBoard? = PathBoard()
        var orphan = board?.changes().makeAsyncIterator()
        board = nil
        #expect(await orphan?.next() == nil)
        let kept = PathBoard()
        let task = Task { [changes = kept.changes()] in
            for await _ in changes {}
            return true
        }
        task.cancel()
        #expect(await task.value)
    }
}
