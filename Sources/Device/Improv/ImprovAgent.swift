import AgentModel
import AppClient
import AppProtocol
import Glibc
import Linux

/// The device's agent, as Improv asks it: over its socket, with the app protocol, as every program on the device.
public struct ImprovAgent: Sendable {
    private let endpoint: Endpoint
    /// The address of the device's page, in which `{address}` stands for its address in the network.
    private let page: String?

    /// - Parameter socket: the agent's.
    public init(socket: String, page: String?) {
        endpoint = .unixSocket(path: socket)
        self.page = page
    }

    /// Tells how the device is, and whenever that changes; until the task is cancelled.
    func follow(_ tell: @escaping @AgentLoop @Sendable (ImprovDevice?) -> Void) async {
        var failures = 0
        while !Task.isCancelled {
            do {
                let client = try await DeviceClient(connectingTo: endpoint)
                let events = try await client.events()
                await tell(try await device(client))
                failures = 0
                for try await event in events {
                    switch event.body {
                    case .backupsChanged, .networkChanged, .gap: await tell(try await device(client))
                    case .switchProgress(let status) where status.phase.isOutcome:
                        await tell(try await device(client))
                    default: break
                    }
                }
            } catch {
                // It is being started anew, or is not there: the next attempt tells.
            }
            await tell(nil)
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

    /// Stands for the device's IPv4 address in the address of its page.
    static let placeholder = "{address}"

    /// Joins a network as `network.switch` has it, and waits for how that ends.
    ///
    /// Improv does not tell whether a network hides its name: one that is not seen is asked for by name as well.
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

    /// A password that WPA2 does not take is one for WPA3 alone.
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
            // Beside a cable as well: a device that is set up on a desk has one.
            let status = try await session.switchNetwork(to: .new(network), confirms: false, besideUplink: true)
            if status.phase == .committed { return .success }
            return .failure(status.reason?.rawValue ?? status.phase.rawValue)
        } catch .refused(let refusal) where refusal.code == .alreadyAssociated {
            return .success
        } catch {
            return .failure("\(error)")
        }
    }

    /// - Returns: strongest first; nil where the device does not scan now.
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

    /// The board by its device tree, else the processor's architecture.
    private static var hardware: String {
        if let model = KernelFile.read("/sys/firmware/devicetree/base/model") { return model }
        var names = utsname()
        guard uname(&names) == 0 else { return "Linux" }
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
