/// Plural forms of whole numbers by language, in the order of the categories zero, one, two, few, many, other (CLDR
/// 46). A category that only fractions or millions use is left out.
enum Plural {
    /// Number of forms in a language.
    static func forms(in language: String) -> Int {
        switch language {
        case "ar": 6
        case "pl": 3
        default: 2
        }
    }

    /// Returns the position of a number's form.
    static func form(of number: Int, in language: String) -> Int {
        let (tens, ones) = (number % 100, number % 10)
        switch language {
        case "ar":
            switch tens {
            case _ where number <= 2: return max(0, number)
            case 3...10: return 3
            case 11...99: return 4
            default: return 5
            }
        case "pl": return number == 1 ? 0 : (2...4).contains(ones) && !(12...14).contains(tens) ? 1 : 2
        case "fr", "pt": return number <= 1 ? 0 : 1
        default: return number == 1 ? 0 : 1
        }
    }
}
