import AppProtocol

/// Forms, links and refresh of a portal's page.
struct PortalPage: Sendable, Equatable {
    struct Form: Sendable, Equatable {
        var action = ""
        var isPost = false
        var fields: [Field] = []
        var hasList = false
        var isPriced = false

        var needsPerson: Bool { fields.contains { $0.kind == .text || $0.kind == .password } }

        /// Whether the user must choose something, such as a tariff.
        var hasChoice: Bool { hasList || fields.count { $0.kind == .radio } > 1 }
    }

    struct Field: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case hidden, checkbox, radio, submit, text, password
        }

        var kind: Kind
        var name: String
        var value: String
        /// Label of the field on the page, otherwise its name.
        var label = ""
        var isRequired = false
        var isChecked = false
    }

    struct Link: Sendable, Equatable {
        var target: String
        var text: String
    }

    /// Limits of a page; further elements are ignored.
    static let forms = 16
    static let fields = 64
    static let links = 128

    private(set) var title = ""
    private(set) var forms: [Form] = []
    private(set) var links: [Link] = []
    /// Target of a short `<meta http-equiv="refresh">`.
    private(set) var refresh: String?
    /// Longest delay of a refresh in seconds. Longer ones only reload the page.
    private static let longestDelay = 5

    init(html: [UInt8]) {
        var scanner = TagScanner(html)
        var form: Form?
        var link: Link?
        var isTitle = false
        while let token = scanner.next() {
            switch token {
            case .text(let text):
                form?.addText(text)
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
    /// Adds text to the label of the preceding checkbox or button.
    fileprivate mutating func addText(_ text: String) {
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
    /// - Returns: nil for elements without a submitted value.
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

extension PortalPage {
    enum Step: Sendable, Equatable {
        /// Submit the form with its consents ticked, because it asks for nothing else.
        case submit(Form)
        case follow(String)
        /// The user must fill in the form.
        case ask(Form)
        /// The user must see the page: it needs a choice or a payment.
        case show
        case none
    }

    var step: Step {
        if let form = forms.first(where: \.isConsent) { return .submit(form) }
        // A password form takes precedence over a link.
        if let form = forms.first(where: { form in form.fields.contains { $0.kind == .password } }) {
            return form.hasChoice ? .show : .ask(form)
        }
        if let link = links.first(where: \.leadsOn) { return .follow(link.target) }
        if let form = forms.first(where: \.needsPerson) { return form.hasChoice ? .show : .ask(form) }
        return forms.contains { $0.hasChoice || $0.isPriced } ? .show : .none
    }
}

extension PortalPage.Link {
    fileprivate var leadsOn: Bool {
        let target = target.lowercased()
        return !target.hasPrefix("#") && !target.hasPrefix("javascript:") && !target.hasPrefix("mailto:")
            && ConsentWords.areOnward(self.target + " " + text) && !ConsentWords.areOther(self.target + " " + text)
    }
}

extension PortalPage.Form {
    fileprivate var isConsent: Bool {
        guard !needsPerson, !hasChoice, !isPriced else { return false }
        let said = action + " " + (pressed.map { fields[$0].words } ?? "")
        guard !ConsentWords.areOther(said) else { return false }
        return ConsentWords.areOnwardOnButton(said) || fields.contains { $0.kind == .checkbox && ticks($0) }
    }

    var questions: [PortalRequest.Field] {
        var names: Set<String> = []
        return fields.compactMap { field in
            guard field.kind == .text || field.kind == .password,
                ProviderLimits.fieldNameLength.contains(field.name.utf8.count), names.insert(field.name).inserted,
                names.count <= ProviderLimits.fields
            else { return nil }
            return PortalRequest.Field(
                name: field.name, label: field.label.shortened, kind: field.kind == .password ? .password : .text,
                isRequired: field.isRequired)
        }
    }

    /// Returns the submitted fields: hidden ones, required checkboxes, preset choices and the user's input.
    func values(_ filledIn: [String: String] = [:]) -> [(name: String, value: String)] {
        let pressed = pressed
        return fields.enumerated().compactMap { index, field in
            guard !field.name.isEmpty else { return nil }
            switch field.kind {
            case .hidden: return (field.name, field.value)
            case .checkbox: return ticks(field) ? (field.name, field.value) : nil
            case .radio: return field.isChecked || !hasChoice ? (field.name, field.value) : nil
            case .submit: return index == pressed ? (field.name, field.value) : nil
            case .text, .password: return (field.name, filledIn[field.name] ?? field.value)
            }
        }
    }

    /// The button that continues, otherwise the first one.
    private var pressed: Int? {
        let buttons = fields.indices.filter { fields[$0].kind == .submit }
        return buttons.first { button in
            let words = fields[button].words
            return ConsentWords.areOnwardOnButton(words) && !ConsentWords.areOther(words)
        } ?? buttons.first
    }

    /// Whether to tick a checkbox: a required one, one with terms, or the only unlabelled one.
    private func ticks(_ box: PortalPage.Field) -> Bool {
        guard !box.isRequired else { return true }
        guard !ConsentWords.areOther(box.words) else { return false }
        return ConsentWords.areTerms(box.words)
            || (box.label == box.name && fields.count { $0.kind == .checkbox } == 1)
    }
}

extension PortalPage.Field {
    fileprivate var words: String { name + " " + value + " " + label }
}

/// Classifies forms, checkboxes and links by their words.
enum ConsentWords {
    /// Beginnings of lower-case words that mean to continue.
    private static let onward = [
        "accept", "accett", "acept", "agree", "akzeptier", "clickthrough", "conect", "connect", "connexion", "continu",
        "einverstanden", "nodogsplash", "opennds", "proceed", "verbinden", "weiter",
    ]
    /// Whole words that mean to continue, on buttons only.
    private static let onwardWhole: Set<String> = ["enter", "free", "go", "login", "ok", "okay", "online", "start"]
    /// Beginnings of words for terms and conditions.
    private static let terms = [
        "accept", "accett", "acept", "agb", "agree", "akzeptier", "condition", "consent", "einverstanden",
        "nutzungsbedingung", "policy", "privacy", "rules", "terms", "tos",
    ]
    /// Beginnings of words with other purposes.
    private static let other = [
        "abmelden", "advert", "bestell", "bezahl", "billing", "buy", "cancel", "checkout", "decline", "disagree",
        "disconnect", "kauf", "logoff", "logout", "marketing", "newsletter", "pay", "price", "purchase",
        "reject", "signout", "subscribe", "tarif", "unsubscribe", "upgrade", "voucher",
    ]
    private static let currencies: Set<Unicode.Scalar> = ["€", "$", "£", "¥"]
    private static let currencyNames: Set<String> = ["chf", "eur", "euro", "gbp", "usd"]

    static func areOnward(_ text: String) -> Bool { begins(text, onward) }

    static func areOnwardOnButton(_ text: String) -> Bool {
        areOnward(text) || words(of: text).contains(where: onwardWhole.contains)
    }

    static func areTerms(_ text: String) -> Bool { begins(text, terms) }

    static func areOther(_ text: String) -> Bool { begins(text, other) }

    static func arePrice(_ text: String) -> Bool {
        guard text.unicodeScalars.contains(where: { ("0"..."9").contains($0) }) else { return false }
        return text.unicodeScalars.contains(where: currencies.contains)
            || words(of: text).contains(where: currencyNames.contains)
    }

    private static func begins(_ text: String, _ stems: [String]) -> Bool {
        words(of: text).contains { word in stems.contains { word.hasPrefix($0) } }
    }

    /// Splits the text into lower-case words, also before a capital letter as in `btnAccept`.
    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isAfterSmall = false
        for character in text {
            if !character.isLetter || (character.isUppercase && isAfterSmall) {
                if !word.isEmpty { words.append(word) }
                word = ""
            }
            if character.isLetter { word += character.lowercased() }
            isAfterSmall = character.isLowercase
        }
        return word.isEmpty ? words : words + [word]
    }
}
