import AgentModel
import AppProtocol
import AppServer

@testable import DevicePage

/// A site with a phone on the device's access point, and a browser in the network.
struct SiteBench {
    static let device = IPAddress("192.168.4.1") ?? IPAddress(bytes: [0, 0, 0, 0])!
    static let phone = Browser(address: IPAddress("192.168.4.20")!)
    static let laptop = Browser(address: IPAddress("192.168.1.9")!)
    static let accessPoint = PageContext.accessPoint(address: device, port: 80)

    var site: Site
    var now = Instant(milliseconds: 1000)

    /// Names of networks in the page's forms.
    let networkNames = NetworkNames()

    init(keys: [AppKey] = [Keys.owner]) {
        site = Site(deviceId: "bench-01", keys: Keys(keys: keys), networkNames: networkNames)
    }

    mutating func get(_ target: String, host: String = "192.168.4.1", language: String? = nil) -> Site.Effect {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let request = BrowserRequest(
            .get, parts[0], query: parts.count > 1 ? parts[1] : "", host: host, acceptLanguage: language)
        return site.receive(request, from: Self.phone, in: Self.accessPoint, at: now)
    }

    /// - Parameter token: nil for that of a page that was just asked for.
    mutating func post(
        _ path: String, _ fields: String, token: String? = nil, origin: String? = "http://192.168.4.1",
        host: String = "192.168.4.1", type: String? = Form.contentType, client: Browser = phone
    ) -> Site.Effect {
        let token = token ?? self.token(client)
        let request = BrowserRequest(
            .post, path, host: host, origin: origin, contentType: type,
            body: Secret(text: "token=\(token)&\(fields)"))
        return site.receive(request, from: client, in: Self.accessPoint, at: now)
    }

    mutating func token(_ client: Browser = phone) -> String {
        let request = BrowserRequest(.get, "/", host: "192.168.4.1")
        guard case .show(_, let visitor) = site.receive(request, from: client, in: Self.accessPoint, at: now) else {
            return ""
        }
        return visitor.token
    }

    /// In the network.
    mutating func browse(
        _ method: BrowserRequest.Method, _ path: String, _ fields: String = "", cookie: String? = nil,
        query: String = ""
    ) -> Site.Effect {
        var request = BrowserRequest(
            method, path, query: query, host: "kitchen.local:25863",
            cookie: cookie.map { "a=b; \(Site.sessionCookie)=\($0)" })
        if method == .post {
            request.origin = "https://kitchen.local:25863"
            request.contentType = Form.contentType
            var form = BrowserRequest(.get, "/", host: request.host, cookie: request.cookie)
            form.method = .get
            var token = ""
            if case .show(_, let visitor) = site.receive(form, from: Self.laptop, in: .network, at: now) {
                token = visitor.token
            }
            request.body = Secret(text: "token=\(token)&\(fields)")
        }
        return site.receive(request, from: Self.laptop, in: .network, at: now)
    }
}

struct Keys: AppKeyDirectory {
    var keys: [AppKey]

    static let owner = AppKey(name: .owner, secret: Secret(text: "0123456789abcdef"), role: .manage)

    func key(named name: KeyName) -> AppKey? { keys.first { $0.name == name } }
}

extension Site.Effect {
    var response: BrowserResponse? { if case .answer(let response) = self { response } else { nil } }
    var view: View? { if case .show(let view, _) = self { view } else { nil } }
    var visitor: Visitor? {
        switch self {
        case .answer: nil
        case .show(_, let visitor), .perform(_, _, let visitor): visitor
        }
    }
    var command: Request.Body? { if case .perform(let body, _, _) = self { body } else { nil } }
    var location: String? { response?.headers.first { $0.name == "Location" }?.value }
}

extension BrowserResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

extension View {
    var notice: Notice? { if case .networks(_, let notice) = self { notice } else { nil } }
}
