import AgentModel
import AppProtocol
import Connectivity
import Glibc
import Linux
import NIOCore

/// The provider for portals that only need accepted terms, by form or link. If other fields are needed, asks a user.
public struct ClickThrough {
    private static let steps = 3
    /// Number of checks for internet access after the last page.
    private static let looks = 3
    /// Time between checks for internet access.
    private static let pause = Duration.seconds(1)
    private static let lookLimit = Duration.seconds(5)
    private static let retryAfter = 60
    private static let notAsked = "no question was asked"

    private let group: any EventLoopGroup
    private let clock: any Clock<Duration>
    /// The page with an open question to the user.
    private var pending: (visit: PortalVisit, form: PortalPage.Form, network: JoinedNetwork, dialogue: Dialogue)?

    /// - Parameter clock: measures the pauses between checks.
    public init(on group: any EventLoopGroup, clock: any Clock<Duration> = ContinuousClock()) {
        self.group = group
        self.clock = clock
    }

    public mutating func answer(_ request: ProviderRequest.Content) async -> ProviderAnswer {
        switch request {
        case .hello: .hello
        // Portals that only show terms run on networks without a password.
        case .filterScanList(let networks): .serves(networks.filter { $0.security.isOpenToAll }.map(\.bssid))
        case .evaluate(let network): .evaluated(await evaluate(network))
        case .authenticate(let network): .signIn(await signIn(network))
        case .presentUI: pending.map { .presents($0.dialogue) } ?? .signIn(.failure(reason: Self.notAsked))
        case .answer(let values): .signIn(await goOn(values))
        case .maintain(let network, _): .maintained(await maintain(network))
        case .logoff: .loggedOff
        }
    }

    private func evaluate(_ network: JoinedNetwork) async -> Confidence {
        guard let url = network.signInPage, let visit = try? await PortalVisit(url, through: way(network)) else {
            return .none
        }
        return switch visit.page.step {
        case .submit, .follow: .high
        case .ask(let form): visit.maySend(form) ? .low : .none
        case .show: .low
        case .none: .none
        }
    }

    private mutating func signIn(_ network: JoinedNetwork) async -> SignInResult {
        guard let url = network.signInPage else { return .failure(reason: "the network has no sign-in page") }
        let visit: PortalVisit
        do {
            visit = try await PortalVisit(url, through: way(network))
        } catch {
            return .temporaryFailure(retryAfter: Self.retryAfter)
        }
        return await walk(visit, network)
    }

    /// Completes one page after the other until the network is open or a user is needed.
    private mutating func walk(_ start: PortalVisit, _ network: JoinedNetwork) async -> SignInResult {
        var visit = start
        for _ in 0..<Self.steps {
            do {
                switch visit.page.step {
                case .submit(let form): try await visit.send(form)
                case .follow(let target): try await visit.follow(target)
                case .ask(let form): return ask(form, visit, network)
                case .show: return show(visit, network)
                case .none: return .failure(reason: "the portal's page is not understood")
                }
            } catch {
                // The portal's next page may be unreachable before the network opens.
                return await isOpen(network) == true
                    ? .success(maintainIn: nil, session: nil) : .temporaryFailure(retryAfter: Self.retryAfter)
            }
            if await isOpen(network) ?? true { return .success(maintainIn: nil, session: nil) }
        }
        return .failure(reason: "the portal's pages do not open the network")
    }

    private mutating func ask(
        _ form: PortalPage.Form, _ visit: PortalVisit, _ network: JoinedNetwork
    ) -> SignInResult {
        // Asks only if the answers go to the right host.
        guard visit.maySend(form) else { return .failure(reason: PortalVisit.Failure.elsewhere.description) }
        pending = (
            visit, form, network,
            Dialogue(
                title: title(of: visit), message: "The network \(network.ssid) asks you to sign in.",
                url: visit.shownAddress.description, fields: form.questions)
        )
        return .uiRequired(nil)
    }

    private mutating func show(_ visit: PortalVisit, _ network: JoinedNetwork) -> SignInResult {
        pending = (
            visit, PortalPage.Form(), network,
            Dialogue(
                title: title(of: visit),
                message: "The network \(network.ssid) asks for a choice or a payment that the device cannot make.",
                url: visit.shownAddress.description)
        )
        return .uiRequired(nil)
    }

    private func title(of visit: PortalVisit) -> String {
        let title = visit.page.title.split(whereSeparator: \.isWhitespace).joined(separator: " ").shortened
        return title.isEmpty ? "Sign in" : title
    }

    private mutating func goOn(_ values: [String: Secret]) async -> SignInResult {
        guard let (before, form, network, _) = pending else { return .failure(reason: Self.notAsked) }
        pending = nil
        var visit = before
        if !form.fields.isEmpty {
            do {
                try await visit.send(form, values.compactMapValues(\.text))
            } catch {
                if case .elsewhere = error { return .failure(reason: error.description) }
                guard await isOpen(network) == true else { return .temporaryFailure(retryAfter: Self.retryAfter) }
                return .success(maintainIn: nil, session: nil)
            }
        }
        if await isOpen(network) ?? true { return .success(maintainIn: nil, session: nil) }
        // The portal may ask again after a mistyped password.
        return form.fields.isEmpty ? .failure(reason: "the network stays closed") : await walk(visit, network)
    }

    private func maintain(_ network: JoinedNetwork) async -> MaintainResult {
        await isOpen(network) ?? true ? .success(next: nil) : .authenticationRequired
    }

    /// - Returns: nil without a probe. The agent then checks for internet access.
    private func isOpen(_ network: JoinedNetwork) async -> Bool? {
        guard let source = network.probe?.source else { return nil }
        for look in 1...Self.looks {
            let found = await OnlineValidator(source: source).look(through: way(network), within: Self.lookLimit)
            if found.finding == .online { return true }
            if look < Self.looks { try? await clock.sleep(for: Self.pause) }
        }
        return false
    }

    private func way(_ network: JoinedNetwork) -> InterfaceNetwork {
        guard !network.nameServers.isEmpty else { return InterfaceNetwork(interface: network.interface, on: group) }
        let way = InterfaceNetwork(interface: network.interface, on: group, announcements: .supplied)
        way.setAnnouncements(NetworkAnnouncements(nameServers: network.nameServers.map { NameServer($0) }))
        return way
    }
}

extension JoinedNetwork {
    /// URL of the sign-in page. Prefers the URL from the API to a redirection (RFC 8908, 4.1).
    fileprivate var signInPage: String? { api?.userPortal ?? portal }
}

extension JoinedNetwork.Probe {
    fileprivate var source: ValidationSource? {
        switch expected {
        case .status(let status): try? ValidationSource(url: url, status: "\(status)")
        case .body(let body): try? ValidationSource(url: url, body: body)
        }
    }
}

/// Runs a provider as a program: requests on standard input, answers on standard output, until the input ends.
public struct ProviderProgram {
    private var service: ClickThrough

    public init(_ service: ClickThrough) { self.service = service }

    public consuming func run() async {
        var splitter = LineSplitter()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(0, &buffer, buffer.count)
            guard count > 0 else { return }
            splitter.append(buffer.prefix(count))
            while let next = splitter.next() {
                guard case .line(let line) = next else { return }
                let answer = await answer(line) + [UInt8(ascii: "\n")]
                guard (try? writeAll(answer, to: 1, attempting: "answer")) != nil else { return }
            }
        }
    }

    private mutating func answer(_ line: [UInt8]) async -> [UInt8] {
        do throws(RejectedRequest) {
            let request = try ProviderRequest(line: line)
            let answer = await service.answer(request.content)
            do {
                return try answer.line(to: request.id)
            } catch {
                return error.providerLine(to: request.id)
            }
        } catch {
            return error.error.providerLine(to: error.id)
        }
    }
}
