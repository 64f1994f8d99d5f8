import AgentModel
import Connectivity
import Linux
import NIOPosix
import Synchronization
import Testing

@testable import Agent

@Suite struct CaptiveWatchTests {
    /// A network that tells of no portal is looked at again every minute: a wait would wake the processor for nothing.
    @AgentLoop @Test func onlyTheFirstLookWaitsForTheDHCPClient() async {
        let (looks, told) = AsyncStream.makeStream(of: Duration.self)
        let now = Mutex(Instant.now)
        let watch = CaptiveWatch(
            CaptiveWatch.Means(
                find: { _, patience in
                    told.yield(patience)
                    return nil
                }, ask: { _, _, _ in CaptiveLook(result: .failure(.contentType), cost: 0) },
                now: { now.withLock { $0 } }), QuestionBudget())
        var patience = looks.makeAsyncIterator()
        watch.follow(InterfaceNetwork(interface: "wlan9", on: MultiThreadedEventLoopGroup.singleton))
        _ = await watch.state(within: .seconds(3600))
        #expect(await patience.next() == .seconds(1))

        now.withLock { $0 = $0 + .seconds(60) }
        _ = await watch.state(within: .zero)
        #expect(await patience.next() == .zero)

        watch.askAnew()
        _ = await watch.state(within: .seconds(3600))
        #expect(await patience.next() == .seconds(1), "what is in doubt is waited for")
    }
}
