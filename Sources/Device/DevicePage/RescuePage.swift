import AgentModel
import AppServer
import Connectivity
import DHCP
import NIOCore
import Synchronization

/// What the device's access point has running while it is open.
package protocol RescuePage: Sendable {
    /// - Parameters:
    ///   - interface: of the access point; nothing is answered on any other.
    ///   - address: the device's own there.
    func open(on interface: String, address: IPv4Address) async throws
    func close() async
}

/// The page and the name server of the access point, on ports 80 and 53.
package final class AccessPointPage: RescuePage {
    private struct Running {
        let web: WebListener
        let names: any Channel
    }

    private let page: DevicePage
    private let loop: any EventLoop
    private let onBrowserRequest: @Sendable () -> Void
    private let running = Mutex<Running?>(nil)

    /// - Parameter onBrowserRequest: is called for each page that a person asks for.
    package init(_ page: DevicePage, on loop: any EventLoop, onBrowserRequest: @escaping @Sendable () -> Void) {
        (self.page, self.loop, self.onBrowserRequest) = (page, loop, onBrowserRequest)
    }

    /// - Throws: an error of the system, such as one that another program has a port; then nothing is open.
    package func open(on interface: String, address: IPv4Address) async throws {
        await close()
        guard let place = IPAddress(bytes: address.bytes) else { return }
        let bind: @Sendable (any Channel) throws -> Void = { channel in
            try channel.pipeline.syncOperations.addHandler(InterfaceBinding(to: interface), position: .first)
        }
        let clock = ServerClock(ContinuousClock())
        let names = try await NameServer.bind(
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
