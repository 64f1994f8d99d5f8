import AgentModel
import AppProtocol
import AppServer

/// Decides about browser requests: an answer, a page or a command for the device. It uses no socket, clock or device.
struct Site: Sendable {
    enum Effect: Sendable {
        case answer(BrowserResponse)
        /// Build the page from the device's answers to the view's questions.
        case show(View, Visitor)
        /// Send the request to the device and pass the result to `afterwards`.
        case perform(Request.Body, Purpose, Visitor)
    }

    enum Purpose: Sendable, Equatable {
        case join(NetworkChoice)
        /// A switch to a stored network.
        case move(SSID)
        case scan
        case name
        /// An edit of the backups, which first needs the list.
        case edit(BackupEdit)
        case saveBackups
    }

    private let deviceId: String
    private let keys: any AppKeyDirectory
    private let networkNames: NetworkNames
    private let tokens = FormTokens()
    private var sessions = WebSessions()
    private var attempt: SwitchAttempt?
    private var scans = TokenBucket(1, per: .seconds(10), burst: 1)

    /// - Parameter networkNames: names of networks in forms and requests.
    init(deviceId: String, keys: any AppKeyDirectory, networkNames: NetworkNames = NetworkNames()) {
        (self.deviceId, self.keys, self.networkNames) = (deviceId, keys, networkNames)
    }

    /// Whether a person has confirmed seeing the success. Before, the phone's sheet with the page must stay open.
    var isDone: Bool { attempt?.isSeen == true }

    private var isCommitted: Bool { attempt?.outcome?.phase == .committed }

    /// Forgets a committed attempt when the access point reopens. Failed attempts stay visible.
    mutating func reopen() { if isCommitted || isDone { attempt = nil } }

    /// - Parameter now: time on a monotonic clock.
    mutating func receive(
        _ request: BrowserRequest, from client: Browser, in place: PageContext, at now: Instant
    ) -> Effect {
        guard place.isOwn(host: request.host) else { return .answer(lead(request, place)) }
        if request.method == .get, let asset = Assets.response(to: request.path) { return .answer(asset) }
        let visitor = visitor(request, client, place, at: now)
        if request.isTooLarge { return .show(.error(413, .errorTooLarge, detail: nil), visitor) }
        switch request.method {
        case .get: return get(request, visitor, at: now)
        case .post: return post(request, visitor, at: now)
        case .other: return .answer(BrowserResponse(405, [("Allow", "GET, HEAD, POST")]))
        }
    }

    mutating func afterwards(
        _ result: Result<Response.Body, ProtocolError>, of purpose: Purpose, _ visitor: Visitor, at now: Instant
    ) -> Effect {
        switch (purpose, result) {
        case (.scan, .success): return .answer(Self.redirect(to: visitor.isSignedIn ? "/networks" : "/"))
        case (.scan, .failure(let error)) where error.code == .scanBusy:
            return .answer(Self.redirect(to: visitor.isSignedIn ? "/networks" : "/"))
        case (.name, .success):
            return .answer(Self.redirect(to: visitor.isSignedIn ? "/status" : "/"))
        case (.join(let choice), .success(.switchStatus(let status))):
            return begin(status.switchId, choice, named: choice.ssid, visitor, at: now)
        case (.move(let ssid), .success(.switchStatus(let status))):
            return begin(status.switchId, nil, named: ssid, visitor, at: now)
        case (.edit(let edit), .success(.backups(let list))):
            guard let update = edit.update(of: list, named: { networkNames.name(of: $0) }) else {
                return .show(.error(409, .errorStored, detail: nil), visitor)
            }
            return .perform(.updateBackups(update), .saveBackups, visitor)
        case (.saveBackups, .success): return .answer(Self.redirect(to: "/networks"))
        case (.join(let choice), .failure(let error)) where error.code == .invalidPassword:
            return .show(.networks(chosen: choice, .wrong(.errorPasswordLength)), visitor)
        case (_, .failure(let error)):
            switch error.code {
            case .switchInProgress:
                if let attempt, !attempt.isOver { return .show(.attempt(attempt), visitor) }
                return .show(.error(409, .errorBusy, detail: nil), visitor)
            case .alreadyAssociated:
                // The device is already in this network, with the same password.
                switch purpose {
                case .join(let choice): return begin("", choice, named: choice.ssid, isReached: true, visitor, at: now)
                case .move(let ssid): return begin("", nil, named: ssid, isReached: true, visitor, at: now)
                default: return .show(.error(409, .errorRefused, detail: error.message), visitor)
                }
            case .notPermitted: return .show(.error(403, .errorNotPermitted, detail: nil), visitor)
            default: return .show(.error(409, .errorRefused, detail: error.message), visitor)
            }
        case (_, .success): return .show(.error(500, .errorRefused, detail: nil), visitor)
        }
    }

    private mutating func begin(
        _ switchID: String, _ choice: NetworkChoice?, named ssid: SSID, isReached: Bool = false, _ visitor: Visitor,
        at now: Instant
    ) -> Effect {
        var attempt = SwitchAttempt(switchID: switchID, network: choice, name: ssid.description, began: now)
        if isReached { attempt.outcome = SwitchStatus(switchId: "", phase: .committed) }
        self.attempt = attempt
        return .show(.attempt(attempt), visitor)
    }

    private mutating func record(_ status: SwitchStatus, at now: Instant) {
        guard status.switchId == attempt?.switchID, status.phase.isOutcome, attempt?.outcome == nil else { return }
        attempt?.outcome = status
        attempt?.ended = now
    }

    /// True if a scan must start, because no network is known. A scan needs no form, because it changes nothing.
    mutating func wantsScan(for view: View, _ facts: Facts, at now: Instant) -> Bool {
        guard case .networks = view, let scan = facts.scan, scan.networks.isEmpty, !scan.isScanning,
            scans.consumeIfReady(at: now)
        else { return false }
        return true
    }

    mutating func shown(_ view: View, _ facts: Facts, at now: Instant) -> View {
        if let status = facts.attempt { record(status, at: now) }
        guard case .attempt(let shown) = view, facts.attempt == nil, !shown.isOver else { return view }
        // The device has restarted and does not know this switch.
        if attempt?.switchID == shown.switchID { attempt = nil }
        return .networks(chosen: shown.network, nil)
    }

    // MARK: Requests

    /// Redirects requests for other hosts to the page, and answers connectivity checks once a person has seen the
    /// success.
    private func lead(_ request: BrowserRequest, _ place: PageContext) -> BrowserResponse {
        guard request.method == .get, let url = place.url else { return BrowserResponse(421) }
        let host = (request.host ?? "").split(separator: ":").first.map(String.init) ?? ""
        if isDone, let answer = ProbeAnswers.success(host: host, path: request.path) { return answer }
        return BrowserResponse(302, [("Location", url + "/"), ("Cache-Control", "no-store")])
    }

    private mutating func visitor(
        _ request: BrowserRequest, _ client: Browser, _ place: PageContext, at now: Instant
    ) -> Visitor {
        let cookies = Cookies(request.cookie)
        let wanted = Self.wantedLanguage(request.query) ?? cookies[Self.languageCookie]
        let language = wanted.flatMap { Language(code: $0) } ?? Language(accepting: request.acceptLanguage)
        let address = "\(client.address)"
        switch place {
        case .accessPoint:
            return Visitor(
                place: place, language: language, peer: Peer(origin: .page(address: address), role: .manage),
                session: nil, token: tokens.token(for: address, at: now))
        case .network:
            let session = cookies[Self.sessionCookie]
            let key = session.flatMap { sessions.key(of: $0, in: keys, at: now, isUse: !request.isLive) }
            return Visitor(
                place: place, language: language,
                peer: Peer(origin: .page(address: address), role: key?.role ?? .see, key: key?.name),
                session: key == nil ? nil : session,
                token: tokens.token(for: (key == nil ? nil : session) ?? address, at: now))
        }
    }

    private func get(_ request: BrowserRequest, _ visitor: Visitor, at now: Instant) -> Effect {
        if case .network = visitor.place, !visitor.isSignedIn {
            let hadSession = Cookies(request.cookie)[Self.sessionCookie] != nil
            return .show(.signIn(hadSession ? .ended : nil), visitor)
        }
        switch (request.path, visitor.place) {
        case ("/", .accessPoint), ("/result", .accessPoint):
            return .show(current(at: now).map { .attempt($0) } ?? .networks(chosen: nil, nil), visitor)
        case ("/result", .network): return .show(current(at: now).map { .attempt($0) } ?? .status, visitor)
        case ("/", .network), ("/status", .network): return .show(.status, visitor)
        case ("/networks", _): return .show(.networks(chosen: nil, nil), visitor)
        case ("/history", .network): return .show(.history, visitor)
        case ("/diagnosis", .network): return .show(.diagnosis(isRun: false), visitor)
        // A reload of a form's target does not send the form again.
        case ("/join", _), ("/move", _), ("/scan", _), ("/name", _), ("/sign-in", _), ("/sign-out", _), ("/done", _),
            ("/store", _), ("/backups", _):
            return .answer(Self.redirect(to: attempt == nil ? "/" : "/result"))
        default: return .show(.error(404, .errorNotFound, detail: nil), visitor)
        }
    }

    /// The attempt to show; nil if there is none, or it has failed long ago.
    private func current(at now: Instant) -> SwitchAttempt? {
        guard let attempt, attempt.ended.map({ now - $0 < SwitchAttempt.lifetime }) ?? true || isCommitted else {
            return nil
        }
        return attempt
    }

    private mutating func post(_ request: BrowserRequest, _ visitor: Visitor, at now: Instant) -> Effect {
        guard let host = request.host, request.origin.map({ visitor.place.isOwn(origin: $0, host: host) }) ?? true
        else {
            return .show(.error(403, .errorForeign, detail: nil), visitor)
        }
        let type = request.contentType?.split(separator: ";").first.map { $0.lowercased() }
        guard type == Form.contentType, let form = Form(reading: request.body) else {
            return .show(.error(400, .errorForeign, detail: nil), visitor)
        }
        let subject: String
        if let session = visitor.session {
            subject = session
        } else if case .page(let address) = visitor.peer.origin {
            subject = address
        } else {
            subject = ""
        }
        guard let token = form.text("token"), tokens.isValid(token, for: subject, at: now) else {
            return .show(.error(403, .errorExpired, detail: nil), visitor)
        }
        if case .network = visitor.place, !visitor.isSignedIn {
            return request.path == "/sign-in" ? signIn(form, visitor, at: now) : .show(.signIn(.ended), visitor)
        }
        switch request.path {
        case "/join": return join(form, visitor)
        case "/scan": return .perform(.startScan(ScanRequest()), .scan, visitor)
        case "/move": return move(form, visitor)
        case "/name": return name(form, visitor)
        case "/done" where !visitor.isSignedIn:
            if attempt?.isOver == true { attempt?.isSeen = true }
            return .answer(Self.redirect(to: "/result"))
        case "/store" where visitor.isSignedIn: return store(form, visitor)
        case "/backups" where visitor.isSignedIn: return edit(form, visitor)
        case "/diagnosis" where visitor.isSignedIn: return .show(.diagnosis(isRun: true), visitor)
        case "/sign-out" where visitor.isSignedIn: return signOut(visitor)
        default: return .show(.error(404, .errorNotFound, detail: nil), visitor)
        }
    }

    private func join(_ form: Form, _ visitor: Visitor) -> Effect {
        switch network(in: form, visitor) {
        case .failure(let wrong): return wrong.effect
        case .success((let choice, let network)):
            // The user asks for Wi-Fi, even if another uplink carries the traffic.
            return .perform(
                .switchNetwork(SwitchRequest(target: .new(network), besideUplink: true)), .join(choice), visitor)
        }
    }

    /// Stores a network as a backup without joining it. A stored one of its name is replaced.
    private func store(_ form: Form, _ visitor: Visitor) -> Effect {
        guard visitor.may(.manage) else { return .show(.error(403, .errorNotPermitted, detail: nil), visitor) }
        switch network(in: form, visitor) {
        case .failure(let wrong): return wrong.effect
        case .success((_, let network)): return .perform(.getBackups, .edit(.add(network)), visitor)
        }
    }

    private func edit(_ form: Form, _ visitor: Visitor) -> Effect {
        guard visitor.may(.manage) else { return .show(.error(403, .errorNotPermitted, detail: nil), visitor) }
        do throws(InvalidEdit) {
            return .perform(.getBackups, .edit(try BackupEdit(form)), visitor)
        } catch {
            return .show(.error(400, error.phrase, detail: nil), visitor)
        }
    }

    private struct WrongEntry: Error {
        let effect: Effect
    }

    /// Reads a network and its password from a form.
    private func network(in form: Form, _ visitor: Visitor) -> Result<(NetworkChoice, NewNetwork), WrongEntry> {
        func wrong(
            _ phrase: Phrase, _ choice: NetworkChoice? = nil, typed: String? = nil
        ) -> Result<(NetworkChoice, NewNetwork), WrongEntry> {
            .failure(WrongEntry(effect: .show(.networks(chosen: choice, .wrong(phrase, typed: typed)), visitor)))
        }
        guard let value = form.text("network") else { return wrong(.errorNetwork) }
        let choice: NetworkChoice
        let isTyped = value == Self.otherNetwork
        if isTyped {
            guard let name = form.text("name") else { return wrong(.errorNetwork) }
            guard let ssid = try? SSID(name) else { return wrong(.errorNetwork, typed: name) }
            choice = NetworkChoice(ssid: ssid, security: form.text("open") == nil ? nil : .open)
        } else {
            guard let known = NetworkChoice(formValue: value) else { return wrong(.errorNetwork) }
            choice = known
        }
        let password = form.secret("password") ?? Secret([])
        let credential: NetworkCredential
        if choice.security?.isOpenToAll ?? false {
            credential = .none
        } else {
            guard password.count > 0 else { return wrong(.errorPasswordMissing, choice) }
            do throws(InvalidPassphrase) {
                try Passphrase.validate(password, for: choice.security)
            } catch {
                switch error {
                case .length, .saeLength: return wrong(.errorPasswordLength, choice)
                case .notPrintableASCII, .notText: return wrong(.errorPasswordCharacters, choice)
                }
            }
            credential = .password(password)
        }
        return .success(
            (
                choice,
                NewNetwork(ssid: choice.ssid, credential: credential, security: choice.security, isHidden: isTyped)
            ))
    }

    private func move(_ form: Form, _ visitor: Visitor) -> Effect {
        guard let hash = form.text("hash").flatMap({ NetworkHash(base64: $0) }),
            let ssid = form.text("ssid").flatMap({ Hex.bytes($0) }).flatMap({ try? SSID(bytes: $0) })
        else { return .show(.networks(chosen: nil, .wrong(.errorNetwork)), visitor) }
        let request = SwitchRequest(target: .stored(hash), besideUplink: true)
        return .perform(.switchNetwork(request), .move(ssid), visitor)
    }

    /// Sets the device's name. An empty text deletes the name.
    private func name(_ form: Form, _ visitor: Visitor) -> Effect {
        let text = form.text("deviceName")
        let name = text.flatMap { try? DeviceName($0) }
        guard name != nil || text == "" else { return .show(.error(400, .errorName, detail: nil), visitor) }
        return .perform(.setName(DeviceNameChange(name: name)), .name, visitor)
    }

    // MARK: Signing in

    private mutating func signIn(_ form: Form, _ visitor: Visitor, at now: Instant) -> Effect {
        guard let given = form.secret("key"), let key = key(shownBy: given) else {
            return .answer(PageWriter(visitor).signIn(.wrong, keyResult: .wrong))
        }
        guard !key.isInvitation else { return .show(.signIn(.invitation), visitor) }
        let session = sessions.open(with: key.name, key.secret, at: now)
        var response = Self.redirect(to: "/status")
        response.headers.append(
            ("Set-Cookie", "\(Self.sessionCookie)=\(session); Path=/; Secure; HttpOnly; SameSite=Strict"))
        response.keyResult = .right
        return .answer(response)
    }

    /// Returns the key that the user has typed, or pasted as a pairing code; nil if the key is wrong or not valid.
    private func key(shownBy given: Secret) -> AppKey? {
        let shown = given.withBytes { bytes -> (KeyName, Secret)? in
            let text = bytes.drop { $0 == UInt8(ascii: " ") }
            guard let end = text.lastIndex(where: { $0 != UInt8(ascii: " ") }) else { return nil }
            let trimmed = text[...end]
            guard trimmed.starts(with: PairingCode.scheme.utf8) else { return (.owner, Secret(Array(trimmed))) }
            guard let code = try? PairingCode(reading: trimmed), code.device.deviceId == deviceId else { return nil }
            return (code.device.name, code.device.localKey)
        }
        guard let (name, secret) = shown, let key = keys.key(named: name), key.secret == secret, key.state == .valid
        else { return nil }
        return key
    }

    private mutating func signOut(_ visitor: Visitor) -> Effect {
        if let session = visitor.session { sessions.close(session) }
        var response = Self.redirect(to: "/")
        response.headers.append(
            ("Set-Cookie", "\(Self.sessionCookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict"))
        return .answer(response)
    }

    // MARK: Words of requests

    static let sessionCookie = "__Host-session"
    static let languageCookie = "lang"
    /// Form value that stands for a typed network name.
    static let otherNetwork = "other"

    private static func redirect(to path: String) -> BrowserResponse {
        BrowserResponse(303, [("Location", path), ("Cache-Control", "no-store")])
    }

    /// Reads `lang=de` from a query.
    static func wantedLanguage(_ query: String) -> String? {
        query.split(separator: "&").first { $0.hasPrefix("lang=") }.map { String($0.dropFirst(5)) }
    }
}
