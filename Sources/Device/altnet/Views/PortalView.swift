import AppProtocol

/// A network's sign-in in words.
enum PortalView {
    /// Where nobody is asked for anything.
    static func status(_ status: PortalStatus) -> String {
        guard let portal = status.portal else { return "This network wants nobody to sign in." }
        let provider = portal.provider.map { " by \($0.printable)" } ?? ""
        let problem = status.problem.map { " The device could not: \($0.printable)." } ?? ""
        return switch portal.state {
        case .inactive, .presentingUI: "\(ConnectivityWording.wanted(portal)).\(problem)"
        case .evaluating: "\(ConnectivityWording.wanted(portal)). It is being found out how."
        case .authenticating: "The device is being signed in\(provider)."
        case .authenticated, .maintaining: "The device is signed in\(provider)\(ConnectivityWording.rest(of: portal))."
        }
    }

    /// What is asked for, and that these are not this program's words.
    static func request(_ request: PortalRequest, _ style: Style) -> String {
        let words = [request.title] + request.message.split(whereSeparator: \.isNewline).map(String.init)
        let url = request.url.map { ["Or open this page in a browser: \($0.printable)"] } ?? []
        let asking = style.heading("\(request.provider.printable) asks for \(request.network.ssid):")
        return ([asking] + (words.map(\.printable) + url).map { "  " + $0 }).joined(separator: "\n")
    }
}
