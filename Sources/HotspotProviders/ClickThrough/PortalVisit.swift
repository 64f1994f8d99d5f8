import InterfaceNetwork
import OnlineValidation

/// A visit to the pages of a portal: redirections and cookies, as far as a browser would go, within limits.
struct PortalVisit: Sendable {
    /// Why there is no page.
    enum Failure: Error {
        case web(WebFailure)
        case address(InvalidWebAddress)
        case redirections
    }

    private static let redirections = 5
    private static let limits = WebLimits(time: .seconds(8), body: .first(256 * 1024))
    private static let cookies = 16
    private static let cookieLength = 512

    private let client = WebClient()
    let network: InterfaceNetwork
    /// By host, so that none gets what another one set.
    private var jar: [(host: String, name: String, value: String)] = []
    private(set) var address: WebAddress
    private(set) var page = PortalPage(html: [])

    init(_ url: String, through network: InterfaceNetwork) async throws(Failure) {
        do { address = try WebAddress(url) } catch { throw .address(error) }
        self.network = network
        try await load(.get, address)
    }

    mutating func follow(_ target: String) async throws(Failure) { try await load(.get, resolve(target)) }

    mutating func send(_ form: PortalPage.Form, _ filledIn: [String: String] = [:]) async throws(Failure) {
        let target = try resolve(form.action)
        guard !form.isPost else { return try await load(.form(form.values(filledIn)), target) }
        do {
            let address = try target.resolving("?" + WebRequest.encoded(form.values(filledIn)))
            try await load(.get, address)
        } catch let error as InvalidWebAddress {
            throw .address(error)
        } catch let error as Failure {
            throw error
        } catch {
            throw .redirections
        }
    }

    private func resolve(_ target: String) throws(Failure) -> WebAddress {
        do { return try address.resolving(target) } catch { throw .address(error) }
    }

    private mutating func load(_ method: WebRequest.Method, _ start: WebAddress) async throws(Failure) {
        var request = WebRequest(method, start, accept: "text/html")
        for _ in 0...Self.redirections {
            request.cookies = cookies(for: request.address)
            let answer: WebAnswer
            do {
                answer = try await client.fetch(request, through: network, limits: Self.limits)
            } catch {
                throw .web(error)
            }
            keepCookies(of: answer)
            address = answer.address
            page = PortalPage(html: answer.body)
            guard let next = answer.location ?? page.refresh.flatMap({ try? answer.address.resolving($0) }) else {
                return
            }
            // Only these send the form again (RFC 9110, 15.4.8 and 15.4.9).
            let method = answer.status == 307 || answer.status == 308 ? request.method : .get
            request = WebRequest(method, next, accept: "text/html")
        }
        throw .redirections
    }

    private func cookies(for address: WebAddress) -> String? {
        let known = jar.filter { $0.host == address.host }.map { "\($0.name)=\($0.value)" }
        return known.isEmpty ? nil : known.joined(separator: "; ")
    }

    private mutating func keepCookies(of answer: WebAnswer) {
        for cookie in answer.values(of: "Set-Cookie") {
            let pair = cookie.prefix { $0 != ";" }
            guard pair.utf8.count <= Self.cookieLength, pair.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
                let separator = pair.firstIndex(of: "="), separator > pair.startIndex
            else { continue }
            let (name, value) = (String(pair[..<separator]), String(pair[pair.index(after: separator)...]))
            jar.removeAll { $0.host == answer.address.host && $0.name == name }
            jar.append((answer.address.host, name, value))
            if jar.count > Self.cookies { jar.removeFirst() }
        }
    }
}

extension PortalVisit.Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .web(let failure): "the portal's page could not be fetched: \(failure)"
        case .address(let error): "the portal has no address that can be asked: \(error)"
        case .redirections: "the portal redirects without an end"
        }
    }
}
