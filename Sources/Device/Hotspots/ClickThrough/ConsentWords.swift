/// What the words of a page say about what a form, a box or a link is for.
enum ConsentWords {
    /// How words begin by which those who make such pages call the way on, in small letters.
    private static let onward = [
        "accept", "accett", "acept", "agree", "akzeptier", "clickthrough", "conect", "connect", "connexion", "continu",
        "einverstanden", "nodogsplash", "opennds", "proceed", "verbinden", "weiter",
    ]
    /// On a button, these as they are.
    private static let onwardWhole: Set<String> = ["enter", "free", "go", "login", "ok", "okay", "online", "start"]
    /// How words begin that name what one has to agree to.
    private static let terms = [
        "accept", "accett", "acept", "agb", "agree", "akzeptier", "condition", "consent", "einverstanden",
        "nutzungsbedingung", "policy", "privacy", "rules", "terms", "tos",
    ]
    /// How words begin that nobody means who only wants to get online.
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

    /// Whether it tells what something costs.
    static func arePrice(_ text: String) -> Bool {
        guard text.unicodeScalars.contains(where: { ("0"..."9").contains($0) }) else { return false }
        return text.unicodeScalars.contains(where: currencies.contains)
            || words(of: text).contains(where: currencyNames.contains)
    }

    private static func begins(_ text: String, _ stems: [String]) -> Bool {
        words(of: text).contains { word in stems.contains { word.hasPrefix($0) } }
    }

    /// Runs of letters, in small letters; a capital after a small one begins a word (`btnAccept`).
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
