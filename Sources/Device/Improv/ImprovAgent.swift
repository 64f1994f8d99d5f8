import AgentModel
import AppClient
import AppProtocol
import Glibc
import Linux

/// Client of the agent for Improv. It uses the agent's socket and the app protocol.
public struct ImprovAgent: Sendable {
    private let endpoint: Endpoint
    /// Address of the device's page. `{address}` is a placeholder for the device's IPv4 address.
    private let page: String?

    public init(socket: String, page: String?) {
        endpoint = .unixSocket(path: socket)
        self.page = page
    }

    /// Reports the device at the start and after each change, until the task is cancelled. Reports nil while the agent
    /// does not answer.
    func follow(_ report: @escaping @AgentLoop @Sendable (ImprovDevice?) -> Void) async {
        var failures = 0
        while !Task.isCancelled {
            do {
                let client = try await DeviceClient(connectingTo: endpoint)
                let events = try await client.events()
                await report(try await device(client))
                failures = 0
                for try await event in events {
                    switch event.body {
                    case .backupsChanged, .networkChanged, .gap: await report(try await device(client))
                    case .switchProgress(let status) where status.phase.isOutcome:
                        await report(try await device(client))
                    default: break
                    }
                }
            } catch {
                // The agent restarts or is not running. The next round tries again.
            }
            await report(nil)
            await AgentLoop.sleep(for: BackOff(first: .seconds(1), last: .seconds(30)).wait(after: failures))
            failures += 1
        }
    }

    private func device(_ client: DeviceClient) async throws -> ImprovDevice {
        let capabilities = try await client.capabilities()
        let (list, network) = (try await client.backups(), try await client.network())
        let name = capabilities.deviceId
        return ImprovDevice(
            isProvisioned: list.preferred != nil || !list.networks.isEmpty, pages: pages(network), name: name,
            hostName: Self.hostName, info: ["altnet", capabilities.firmware, Self.hardware, name])
    }

    private func pages(_ network: NetworkStatus) -> [String] {
        guard let page, network.state == .online else { return [] }
        guard page.contains(Self.placeholder) else { return [page] }
        guard let address = network.addresses.first(where: { $0.contains(".") }) else { return [] }
        return [page.split(separator: Self.placeholder, omittingEmptySubsequences: false).joined(separator: address)]
    }

    static let placeholder = "{address}"

    /// Joins a network with `network.switch` and waits for the outcome.
    ///
    /// Improv does not say whether a network is hidden. If a network is not found, joins it as a hidden one.
    func join(_ ssid: SSID, _ password: Secret?) async -> ImprovMachine.Outcome {
        let network: NewNetwork
        do {
            network = try Self.network(ssid, password)
        } catch {
            return .failed("\(ssid): \(error)")
        }
        let session = DeviceSession(endpoint)
        var outcome = await attempt(network, session)
        if case .failure(let reason) = outcome, reason == JoinFailure.notFound.rawValue {
            outcome = await attempt(
                NewNetwork(ssid: ssid, credential: network.credential, security: network.security, isHidden: true),
                session)
        }
        defer { Task { await session.close() } }
        if case .failure(let reason) = outcome { return .failed("\(ssid): \(reason)") }
        let status = try? await session.ask { client throws(ClientError) in try await client.network() }
        return .connected(pages: status.map(pages) ?? [])
    }

    /// Returns the network to join. Requires WPA3 only if WPA2 does not allow the password.
    static func network(_ ssid: SSID, _ password: Secret?) throws(InvalidPassphrase) -> NewNetwork {
        guard let password else { return NewNetwork(ssid: ssid, password: nil, security: .open) }
        do {
            try Passphrase.validate(password)
            return NewNetwork(ssid: ssid, password: password)
        } catch {
            try Passphrase.validate(password, for: .wpa3)
            return NewNetwork(ssid: ssid, password: password, security: .wpa3)
        }
    }

    private enum Attempt { case success, failure(String) }

    private func attempt(_ network: NewNetwork, _ session: DeviceSession) async -> Attempt {
        do {
            // Switches even if a cable carries the traffic, because a device on a desk usually has one.
            let status = try await session.switchNetwork(to: .new(network), confirms: false, besideUplink: true)
            if status.phase == .committed { return .success }
            return .failure(status.reason?.rawValue ?? status.phase.rawValue)
        } catch .refused(let refusal) where refusal.code == .alreadyAssociated {
            return .success
        } catch {
            return .failure("\(error)")
        }
    }

    /// - Returns: the networks, strongest first; nil if the scan failed.
    func scan() async -> [ImprovNetwork]? {
        do {
            let client = try await DeviceClient(connectingTo: endpoint)
            defer { Task { await client.close() } }
            let (_, results) = try await client.scan()
            return results.networks.compactMap { found in
                found.ssid.map { ImprovNetwork(ssid: $0, signal: found.signal, security: found.security) }
            }
        } catch {
            return nil
        }
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Model from the device tree, or else the processor's architecture.
    private static var hardware: String {
        if let model = KernelFile.read("/sys/firmware/devicetree/base/model") { return model }
        var names = utsname()
        guard uname(&names) == 0 else { return "Linux" }
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
