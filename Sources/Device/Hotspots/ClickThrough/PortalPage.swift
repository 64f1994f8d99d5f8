/// What of a page matters for signing in: its forms, its links, and where it sends the browser.
struct PortalPage: Sendable, Equatable {
    struct Form: Sendable, Equatable {
        var action = ""
        var isPost = false
        var fields: [Field] = []
        /// Whether there is a list to choose from.
        var hasList = false
        /// Whether it says what something costs.
        var isPriced = false

        /// Whether somebody has to type something.
        var needsPerson: Bool { fields.contains { $0.kind == .text || $0.kind == .password } }

        /// Whether somebody has to choose something, such as a tariff.
        var hasChoice: Bool { hasList || fields.count { $0.kind == .radio } > 1 }
    }

    struct Field: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case hidden, checkbox, radio, submit, text, password
        }

        var kind: Kind
        var name: String
        var value: String
        /// What the page says of it; its name where that is nothing.
        var label = ""
        var isRequired = false
        var isChecked = false
    }

    struct Link: Sendable, Equatable {
        var target: String
        var text: String
    }

    /// Of a page, what is more is left out.
    static let forms = 16
    static let fields = 64
    static let links = 128

    private(set) var title = ""
    private(set) var forms: [Form] = []
    private(set) var links: [Link] = []
    /// `<meta http-equiv="refresh">`: the page that follows by itself, and soon.
    private(set) var refresh: String?
    /// The longest time after which another page is the next one of these, rather than this one renewed, in seconds.
    private static let longestDelay = 5

    init(html: [UInt8]) {
        var scanner = TagScanner(html)
        var form: Form?
        var link: Link?
        var isTitle = false
        while let token = scanner.next() {
            switch token {
            case .text(let text):
                form?.note(text)
                if isTitle, title.utf8.count + text.utf8.count <= TagScanner.textLength { title += text }
                if let known = link?.text.utf8.count, known + text.utf8.count <= TagScanner.textLength {
                    link?.text += text
                }
            case .tag(let tag):
                switch (tag.name, tag.isClosing) {
                case ("title", let isClosing): isTitle = !isClosing
                case ("form", false):
                    keep(form)
                    form = Form(action: tag["action"] ?? "", isPost: tag["method"]?.lowercased() == "post")
                case ("form", true):
                    keep(form)
                    form = nil
                case ("a", false): link = tag["href"].map { Link(target: $0, text: "") }
                case ("a", true):
                    if let link, links.count < Self.links { links.append(link) }
                    link = nil
                case ("meta", false) where tag["http-equiv"]?.lowercased() == "refresh":
                    refresh = refresh ?? tag["content"].flatMap(Self.refreshTarget)
                case ("select", false): form?.hasList = true
                default:
                    if !tag.isClosing, let field = Field(tag), (form?.fields.count ?? Self.fields) < Self.fields {
                        form?.fields.append(field)
                    }
                }
            }
        }
        keep(form)
    }

    private mutating func keep(_ form: Form?) {
        if let form, forms.count < Self.forms { forms.append(form) }
    }

    /// What stands behind `url=` in `0; url=/next`.
    private static func refreshTarget(_ content: String) -> String? {
        let content = content.drop { $0 == " " }
        let seconds = content.prefix { $0.isASCII && $0.isNumber }
        guard let separator = content.firstIndex(of: ";"), Int(seconds).map({ $0 <= longestDelay }) ?? false else {
            return nil
        }
        let rest = content[content.index(after: separator)...].drop { $0 == " " }
        guard rest.prefix(4).lowercased() == "url=" else { return nil }
        let target = rest.dropFirst(4).filter { $0 != "'" && $0 != "\"" && $0 != " " }
        return target.isEmpty ? nil : target
    }
}

extension PortalPage.Form {
    /// Text of the form: what follows a box or a button says what that is.
    fileprivate mutating func note(_ text: String) {
        if ConsentWords.arePrice(text) { isPriced = true }
        guard let last = fields.indices.last else { return }
        let field = fields[last]
        let text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard field.kind == .checkbox || field.kind == .submit, !text.isEmpty,
            field.label.utf8.count + text.utf8.count < TagScanner.textLength
        else { return }
        fields[last].label = field.label == field.name ? text : field.label + " " + text
    }
}

extension PortalPage.Field {
    /// - Returns: nil for what sends nothing.
    fileprivate init?(_ tag: TagScanner.Tag) {
        let kind: Kind
        switch (tag.name, tag["type"]?.lowercased() ?? "") {
        case ("button", "button"), ("button", "reset"), ("input", "button"), ("input", "reset"), ("input", "file"):
            return nil
        case ("button", _), ("input", "submit"), ("input", "image"): kind = .submit
        case ("input", "hidden"): kind = .hidden
        case ("input", "checkbox"): kind = .checkbox
        case ("input", "radio"): kind = .radio
        case ("input", "password"): kind = .password
        case ("input", _), ("textarea", _): kind = .text
        default: return nil
        }
        let name = tag["name"] ?? ""
        self.init(
            kind: kind, name: name, value: tag["value"] ?? (kind == .checkbox ? "on" : ""),
            label: tag["placeholder"] ?? tag["aria-label"] ?? tag["title"] ?? name,
            isRequired: tag["required"] != nil, isChecked: tag["checked"] != nil)
    }
}
