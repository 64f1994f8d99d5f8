import AppClient
import Foundation
import Measuring
import NIOCore
import NIOPosix

/// Strangers at 200 addresses that take every place they can get, and the owner among them.
struct Flood {
    static let sources = 200
    static let perSecond = 300

    private let clock = ContinuousClock()

    /// How long the owner took for a first answer, each time.
    func run(tries: Int) async throws -> Admittance {
        let server = try ServerProcess(ServerProcess.Limits.device)
        defer { server.stop() }
        let endpoint = try server.endpoint(.tls)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let attackers = Task { [port = server.port] in await attack(port: port, on: group) }
        // Every place is taken by then.
        try await Task.sleep(for: .seconds(2))
        var durations: [Duration] = []
        for _ in 0..<tries {
            let start = clock.now
            let client = try await admittedOwner(endpoint, until: start + .seconds(30))
            durations.append(clock.now - start)
            await client?.close()
            try await Task.sleep(for: .milliseconds(100))
        }
        attackers.cancel()
        let strangers = await attackers.value
        try? await group.shutdownGracefully()
        return Admittance(
            strangersPerSecond: strangers, within2s: durations.count { $0 <= .seconds(2) }, tries: tries,
            timing: Timing(durations))
    }

    /// As an app does it: what fails is tried again.
    private func admittedOwner(_ endpoint: Endpoint, until limit: ContinuousClock.Instant) async throws -> DeviceClient?
    {
        while clock.now < limit {
            guard let client = try? await DeviceClient(connectingTo: endpoint) else { continue }
            if (try? await client.network()) != nil { return client }
            await client.close()
        }
        return nil
    }

    /// A third says nothing, a third nothing after TLS, a third sends a wrong proof; none lets go by itself.
    /// - Returns: how many came in a second.
    private func attack(port: Int, on group: any EventLoopGroup) async -> Double {
        let begin = clock.now
        var (count, rate) = (0, 0.0)
        await withDiscardingTaskGroup { tasks in
            while !Task.isCancelled {
                let number = count
                count += 1
                tasks.addTask {
                    let manner: RawClient.Manner = [.silent, .secured, .wrongProof][number % 3]
                    let source = "127.1.0.\(1 + number % Self.sources)"
                    guard let stranger = try? await RawClient(manner, port: port, from: source, on: group) else {
                        return
                    }
                    try? await Task.sleep(for: .seconds(5))
                    await stranger.close()
                }
                try? await Task.sleep(until: begin + .seconds(1) * count / Self.perSecond, clock: clock)
            }
            rate = Double(count) / ((clock.now - begin) / .seconds(1))
            tasks.cancelAll()
        }
        return rate
    }
}
