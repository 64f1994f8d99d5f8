import AgentModel
import AppProtocol
import AppServer
import Synchronization

/// The device's web page. It needs a key in the network, but not on the setup access point. ``Site`` makes the
/// decisions; this class queries the device and carries out commands.
package final class DevicePage: Sendable {
    private let service: any DeviceService
    private let names: PageWriter.LocalNames
    /// Names of networks on pages. They replace hashes, because hashes could help to guess passwords.
    private let networkNames: NetworkNames
    private let clock: ServerClock
    private let site: Mutex<Site>
    private let trace = Mutex(SignalTrace())
    /// Limits of the request rate, for one phone and for all phones together.
    private let rates = SiteRates(AppServer.RequestRate(perSecond: 20, burst: 60), maximum: 256)
    private let all = Mutex(TokenBucket(100, per: .seconds(1), burst: 400))

    /// - Parameters:
    ///   - localName: name of the device in networks, such as `kitchen.local`; nil for none.
    ///   - port: port of the page in the network; nil for none.
    package init(
        _ service: any DeviceService, deviceId: String, keys: any AppKeyDirectory, localName: String? = nil,
        port: Int? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.service = service
        names = PageWriter.LocalNames(host: localName, port: port)
        self.clock = ServerClock(clock)
        let networkNames = NetworkNames()
        self.networkNames = networkNames
        site = Mutex(Site(deviceId: deviceId, keys: keys, networkNames: networkNames))
    }

    package var inNetwork: any WebPages { Pages(page: self, place: .network, onRequest: {}) }

    /// - Parameter onBrowserRequest: called for each page that a user requests, not for an operating system's probes or
    ///   a page's own requests.
    package func onAccessPoint(
        address: IPAddress, port: Int, onBrowserRequest: @escaping @Sendable () -> Void = {}
    ) -> any WebPages {
        site.withLock { $0.reopen() }
        return Pages(page: self, place: .accessPoint(address: address, port: port), onRequest: onBrowserRequest)
    }

    /// Records signal and losses for the chart until the task is cancelled.
    package func follow(_ hub: EventHub) async {
        for await event in hub.subscribe() {
            switch event.body {
            case .signal(let reading): trace.withLock { $0.add(reading.signal, at: clock.now) }
            case .networkChanged(let status) where status.state != .online:
                trace.withLock { $0.disconnect(at: clock.now) }
            default: break
            }
        }
    }

    private struct Pages: WebPages {
        let page: DevicePage
        let place: PageContext
        let onRequest: @Sendable () -> Void

        func respond(to request: BrowserRequest, from client: Browser) async -> BrowserResponse {
            if place.isOwn(host: request.host), !request.isLive, Assets.response(to: request.path) == nil {
                onRequest()
            }
            return await page.respond(to: request, from: client, in: place)
        }
    }

    private func respond(to request: BrowserRequest, from client: Browser, in place: PageContext) async
        -> BrowserResponse
    {
        let now = clock.now
        let wait = all.withLock { rates.consume(client.site, and: &$0, at: now) }
        if let wait {
            let text = Translation(Language(accepting: request.acceptLanguage))(.errorTooMany)
            return BrowserResponse(
                429,
                [
                    ("Retry-After", "\(wait.milliseconds / 1000 + 1)"), ("Content-Type", "text/plain; charset=utf-8"),
                    ("Cache-Control", "no-store"),
                ], body: Array(text.utf8))
        }
        var effect = site.withLock { $0.receive(request, from: client, in: place, at: now) }
        var delivered: (@Sendable () async -> Void)?
        // An edit of the backups first asks for the list.
        while case .perform(let body, let purpose, let visitor) = effect {
            let result = await ask(body, visitor)
            if case .switchNetwork = body, case .success(.switchStatus(let answer)) = result {
                delivered = { [service] in await service.answerSent(answer) }
            }
            effect = site.withLock { $0.afterwards(result, of: purpose, visitor, at: now) }
        }
        var response = await make(effect, mayScan: !request.isLive)
        response.delivered = delivered
        return response
    }

    /// - Parameter mayScan: whether a page without networks starts a scan. A page that the script keeps up to date does
    ///   not, or a forgotten phone would keep the radio busy.
    private func make(_ effect: Site.Effect, mayScan: Bool) async -> BrowserResponse {
        switch effect {
        case .answer(let response): return response
        case .show(let view, let visitor):
            var facts = await facts(for: view, visitor)
            if mayScan, site.withLock({ $0.wantsScan(for: view, facts, at: clock.now) }) {
                if case .success = await ask(.startScan(ScanRequest()), visitor) { facts.isScanning = true }
            }
            let shown = site.withLock { $0.shown(view, facts, at: clock.now) }
            return PageWriter(visitor, names: names, networkNames: networkNames).response(
                to: shown, facts, at: clock.now)
        case .perform: return BrowserResponse(500)
        }
    }

    private func facts(for view: View, _ visitor: Visitor) async -> Facts {
        var facts = Facts()
        facts.signal = trace.withLock { $0.samples }
        for question in view.questions {
            guard case .success(let answer) = await ask(question, visitor) else { continue }
            switch answer {
            case .scan(let scan): facts.scan = scan
            case .network(let network): facts.network = network
            case .backups(let backups): facts.backups = backups
            case .history(let history): facts.history = history
            case .diagnosis(let diagnosis): facts.diagnosis = diagnosis
            case .switchStatus(let status): facts.attempt = status
            default: break
            }
        }
        return facts
    }

    private func ask(_ body: Request.Body, _ visitor: Visitor) async -> Result<Response.Body, ProtocolError> {
        if let refusal = body.refusal(to: visitor.peer) { return .failure(refusal) }
        do {
            let named = try await service.resolve(body, named: networkNames)
            return .success(try await service.respond(to: named, from: visitor.peer))
        } catch {
            return .failure(error)
        }
    }
}
