/// The colours of a picture. Those of networks are Okabe and Ito's, which people with any kind of colour vision can tell
/// apart ("Color Universal Design", 2008), without its reddest one, for red means an outage here, and without its yellow,
/// which is too faint for a line on white.
package enum Palette {
    package static let paper = "#ffffff"
    package static let ink = "#1c2430"
    package static let faintInk = "#5d6875"
    package static let rule = "#e3e7ec"
    package static let threshold = "#8a94a1"
    package static let happening = "#9aa3ae"
    package static let outage = "#c8102e"
    package static let scan = "#7b8794"
    package static let lane = "#f3f5f7"

    /// A network's colour, one for text upon it, and where the colours are used up, dashes as well.
    package struct Paint {
        package let colour: String
        package let text: String
        package let dashes: String?
    }

    private static let colours = [
        ("#0072b2", "#ffffff"), ("#e69f00", "#1c2430"), ("#009e73", "#ffffff"), ("#cc79a7", "#1c2430"),
        ("#56b4e9", "#1c2430"), ("#4a4a4a", "#ffffff"),
    ]

    package static func paint(_ index: Int) -> Paint {
        let (colour, text) = colours[index % colours.count]
        let dashes = ["", "7 4", "2 4"][index / colours.count % 3]
        return Paint(colour: colour, text: text, dashes: dashes.isEmpty ? nil : dashes)
    }
}
