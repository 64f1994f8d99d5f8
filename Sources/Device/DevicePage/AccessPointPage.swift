import AgentModel
import AppServer
import Connectivity
import DHCP
import NIOCore
import Synchronization

/// Page and name server of the setup access point, on ports 80 and 53.
package final class AccessPointPage: Sendable {
    private struct Running {
        let web: WebListener
        let names: any Channel
    }

    private let page: DevicePage
    private let loop: any EventLoop
    private let onBrowserRequest: @Sendable () -> Void
    private let running = Mutex<Running?>(nil)

    package init(_ page: DevicePage, on loop: any EventLoop, onBrowserRequest: @escaping @Sendable () -> Void) {
        (self.page, self.loop, self.onBrowserRequest) = (page, loop, onBrowserRequest)
    }

    /// - Parameter interface: interface of the access point. Clients on other interfaces are not served.
    /// - Throws: a system error, for example if another program uses a port. Then neither port is open.
    package func open(on interface: String, address: IPv4Address) async throws {
        await close()
        guard let place = IPAddress(bytes: address.bytes) else { return }
        let bind: @Sendable (any Channel) throws -> Void = { channel in
            try channel.pipeline.syncOperations.addHandler(InterfaceBinding(to: interface), position: .first)
        }
        let clock = ServerClock(ContinuousClock())
        let names = try await SetupNameServer.bind(
            NameAnswers(address: address.bytes), at: place, port: 53, clock: clock, on: loop, prepare: bind)
        let web = WebListener(page.onAccessPoint(address: place, port: 80, onBrowserRequest: onBrowserRequest))
        do {
            try await web.listen(at: place, port: 80, on: loop, prepare: bind)
        } catch {
            try? await names.close()
            throw error
        }
        running.withLock { $0 = Running(web: web, names: names) }
    }

    package func close() async {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        try? await running?.names.close()
        await running?.web.close()
    }
}
