import AgentModel
import AppProtocol
import AppServer

/// Renders pages from values only, without queries to the device.
struct PageWriter: Sendable {
    let visitor: Visitor
    let localized: Translation
    var names = LocalNames()
    /// Names of stored networks in forms.
    let networkNames: NetworkNames

    struct LocalNames: Sendable, Equatable {
        /// Host name like `kitchen.local`; nil for none.
        var host: String?
        /// Port of the page; nil if there is none in the network.
        var port: Int?
    }

    init(_ visitor: Visitor, names: LocalNames = LocalNames(), networkNames: NetworkNames = NetworkNames()) {
        (self.visitor, self.names, self.networkNames) = (visitor, names, networkNames)
        localized = Translation(visitor.language)
    }

    /// - Parameter now: time on the clock of the samples in `facts`.
    func response(to view: View, _ facts: Facts, at now: Instant) -> BrowserResponse {
        switch view {
        case .networks(let chosen, let notice): return networks(chosen, notice, facts)
        case .attempt(let attempt): return result(of: attempt, facts)
        case .live(let attempt): return live(attempt, facts)
        case .signIn(let notice): return signIn(notice)
        case .status: return status(facts, at: now)
        case .history: return history(facts)
        case .diagnosis(let isRun): return diagnosis(isRun, facts)
        case .error(let status, let phrase, let detail): return error(status, phrase, detail)
        }
    }

    // MARK: The frame

    /// - Parameters:
    ///   - path: path of this page, for the language links.
    ///   - refresh: seconds until a browser without JavaScript requests this path.
    ///   - isLive: whether the script keeps the page up to date.
    func page(
        _ status: Int = 200, title: String, path: String, refresh: (seconds: Int, path: String)? = nil,
        isLive: Bool = false, _ content: [HTML]
    ) -> BrowserResponse {
        var head: [HTML] = [
            .tag("meta", [.init("charset", "utf-8")]),
            .tag("meta", [.name("viewport"), .init("content", "width=device-width, initial-scale=1")]),
            .tag("title", text: "\(title) – \(localized(.title))"),
            .tag("link", [.init("rel", "stylesheet"), .href("/style.css")]),
            .tag("link", [.init("rel", "icon"), .href("data:,")]),
            .tag("script", [.init("src", "/page.js"), .init("defer", nil)]),
        ]
        if let refresh {
            let meta = HTML.tag(
                "meta",
                [.init("http-equiv", "refresh"), .init("content", "\(refresh.seconds);url=\(refresh.path)")])
            head.append(isLive ? .tag("noscript", [], [meta]) : meta)
        }
        var main: [HTML] = [.tag("h1", text: title)]
        main += content
        let body: [HTML] = [
            .tag("a", [.class("skip"), .href("#main")], text: localized(.skip)),
            .tag("header", [], [.tag("p", [.class("product")], text: localized(.title))] + menu(path)),
            .tag("main", [.id("main"), .init("tabindex", "-1")], main),
            .tag("footer", [], [languageLinks(path)]),
        ]
        let document = HTML.tag(
            "html", [.init("lang", localized.language.rawValue)],
            [
                .tag("head", [], head),
                .tag("body", isLive ? [.init("data-live", "/live"), .init("data-next", "/result")] : [], body),
            ])
        return BrowserResponse(status, headers, body: document.document())
    }

    private var headers: [(name: String, value: String)] {
        var headers = [
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Language", localized.language.rawValue),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            // With no-referrer, browsers would send "null" as the origin of the device's own forms.
            ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
            (
                "Content-Security-Policy",
                "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
                    + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            ),
        ]
        // Renews the cookie with every page, so that a language chosen by link persists.
        let secure = visitor.place == .network ? "; Secure" : ""
        headers.append(
            (
                "Set-Cookie",
                "\(Site.languageCookie)=\(localized.language.rawValue); Path=/; Max-Age=31536000; SameSite=Strict\(secure)"
            ))
        return headers
    }

    private func menu(_ path: String) -> [HTML] {
        guard visitor.isSignedIn else { return [] }
        let entries: [(String, Phrase)] = [
            ("/status", .status), ("/networks", .networks), ("/history", .history), ("/diagnosis", .diagnosis),
        ]
        let links = entries.map { target, phrase in
            HTML.tag(
                "li", [],
                [
                    .tag(
                        "a", [.href(target)] + (target == path ? [.init("aria-current", "page")] : []),
                        text: localized(phrase))
                ])
        }
        let signOut = form("/sign-out", [.tag("button", [.class("plain")], text: localized(.signOut))])
        return [.tag("nav", [.init("aria-label", localized(.menu))], [.tag("ul", [], links), signOut])]
    }

    private func languageLinks(_ path: String) -> HTML {
        let links = Language.allCases.filter { $0 != localized.language }.map { language in
            HTML.tag(
                "a",
                [
                    .href("\(path)?lang=\(language.rawValue)"), .init("lang", language.rawValue),
                    .init("hreflang", language.rawValue),
                ], text: language.ownName)
        }
        return .tag("nav", [.init("aria-label", localized(.languages))], links)
    }

    func form(_ path: String, _ content: [HTML]) -> HTML {
        let token = HTML.tag("input", [.type("hidden"), .name("token"), .value(visitor.token)])
        return .tag("form", [.init("method", "post"), .init("action", path)], [token] + content)
    }

    func alert(_ title: String, _ texts: [String]) -> HTML {
        .tag(
            "div", [.class("alert"), .init("role", "alert")],
            [.tag("p", [], [.tag("strong", text: title)])] + texts.map { .tag("p", text: $0) })
    }

    func error(_ status: Int, _ phrase: Phrase, _ detail: String?) -> BrowserResponse {
        var content = [alert(localized(phrase), [])]
        // The device's text is English.
        if let detail { content.append(.tag("p", [.init("lang", "en")], text: detail.printable)) }
        content.append(.tag("p", [], [.tag("a", [.class("button"), .href("/")], text: localized(.back))]))
        return page(status, title: localized(.errorTitle), path: "/", content)
    }

    // MARK: Signing in

    func signIn(_ notice: SignInNotice?, keyResult: BrowserResponse.KeyResult = .none) -> BrowserResponse {
        var content: [HTML] = []
        switch notice {
        case .wrong: content.append(alert(localized(.signInWrong), []))
        case .invitation: content.append(alert(localized(.signInInvitation), []))
        case .ended: content.append(alert(localized(.signInEnded), []))
        case nil: break
        }
        content += [
            .tag("p", [.id("help")], text: localized(.signInHelp)),
            form(
                "/sign-in",
                [
                    .tag("label", [.init("for", "key")], text: localized(.keyOrCode)),
                    .tag(
                        "input",
                        [
                            .id("key"), .name("key"), .type("password"), .init("required", nil),
                            .init("autocomplete", "current-password"), .init("aria-describedby", "help"),
                            .init("maxlength", "1024"),
                        ]),
                    .tag("button", text: localized(.signIn)),
                ]),
        ]
        var response = page(notice == .wrong ? 403 : 200, title: localized(.signIn), path: "/", content)
        response.keyResult = keyResult
        return response
    }
}

/// Style and script of every page.
enum Assets {
    static func response(to path: String) -> BrowserResponse? {
        switch path {
        case "/style.css": asset("text/css; charset=utf-8", PackageResources.style_css)
        case "/page.js": asset("text/javascript; charset=utf-8", PackageResources.page_js)
        default: nil
        }
    }

    static func isFetchedByPage(_ path: String) -> Bool { ["/style.css", "/page.js", "/live"].contains(path) }

    private static func asset(_ type: String, _ content: [UInt8]) -> BrowserResponse {
        BrowserResponse(
            200,
            [("Content-Type", type), ("Cache-Control", "max-age=600"), ("X-Content-Type-Options", "nosniff")],
            body: content)
    }
}
