import Testing

@testable import Simulation

@Suite struct DeviceStoryTests {
    /// A device that fades at home, moves to the backup and back, and loses home to a power cut.
    private static func story(named home: String = "HomeNet") -> DeviceStory {
        var story = DeviceStory()
        for (name, level) in [(home, -50), ("BackupNet", -55), ("GarageNet", -72)] {
            story.record(name, level: level, at: .zero)
        }
        story.record(online: home, at: .seconds(2))
        story.record(home, level: -85, at: .seconds(12))
        story.record(online: "BackupNet", at: .seconds(13))
        story.record(home, level: -50, at: .seconds(18))
        story.record(online: home, at: .seconds(20))
        story.record(home, level: nil, at: .seconds(30))
        story.record(online: nil, at: .milliseconds(30_400))
        story.record(online: "BackupNet", at: .milliseconds(30_500))
        story.decisions = [(.milliseconds(30_400), "\(home) is lost"), (.milliseconds(30_500), "online on BackupNet")]
        (story.cut, story.duration) = (.seconds(30), .seconds(60))
        story.gaps = [.seconds(20)..<(.milliseconds(20_080)), .milliseconds(29_980)..<(.milliseconds(30_600))]
        story.moments = (1...8).map {
            .init(at: .seconds($0 * 7), "Event \($0)", "a note", gap: $0 % 2 == 0 ? .milliseconds(80) : nil)
        }
        return story
    }

    private func texts(_ picture: XMLElement) -> [String] { picture.all(named: "text").map(\.text) }

    /// All texts are inside the picture, by the estimate of their widths, and at least 11 px high at a width of 800 px.
    private func expectReadableTexts(_ picture: XMLElement) throws {
        let (width, height) = (try #require(picture.number("width")), try #require(picture.number("height")))
        #expect(width == 800 && picture.all(named: "desc").count == 1)
        for text in picture.all(named: "text") {
            let size = try #require(text.number("font-size"))
            #expect(size >= 11)
            let lettering = SVGDrawing.Lettering(size: size, isBold: text.attributes["font-weight"] != nil)
            let (x, length) = (try #require(text.number("x")), lettering.width(of: text.text))
            let shares: [String: Double] = ["middle": 0.5, "end": 1]
            let share = shares[text.attributes["text-anchor"] ?? ""] ?? 0
            #expect(x - share * length >= 0 && x + (1 - share) * length <= width, "\(text.text)")
            #expect((size...height).contains(try #require(text.number("y"))), "\(text.text)")
        }
    }

    @Test func theChartNumbersEachMomentInChartAndList() throws {
        let picture = try XMLElement(document: StoryChart(Self.story()).svg)
        try expectReadableTexts(picture)
        let texts = texts(picture)
        for number in 1...8 { #expect(texts.count { $0 == "\(number)" } == 2 && texts.contains("Event \(number)")) }
        #expect(texts.count { $0 == "0.08 s" } == 4)
    }

    @Test func theLaneShowsEachStay() throws {
        let lane = try XMLElement(document: StoryChart(Self.story()).svg).all(named: "rect").filter {
            $0.attributes["height"] == "22"
        }
        #expect(lane.count == 4)
        #expect(Set(lane.compactMap { $0.attributes["fill"] }).count == 2)
    }

    @Test func theAnimationIsSmallAndStillWhereMotionIsUnwanted() throws {
        let svg = try #require(FailoverAnimation(Self.story())).svg
        #expect(svg.utf8.count < 500_000)
        let still = try #require(svg.split(separator: "@media (prefers-reduced-motion:no-preference)").first)
        #expect(!still.contains("animation:") && !still.contains("@keyframes"))
        try expectReadableTexts(XMLElement(document: svg))
    }

    @Test func theAnimationEndsOnTheBackup() throws {
        let svg = try #require(FailoverAnimation(Self.story())).svg
        let picture = try XMLElement(document: svg)
        func isHidden(_ element: XMLElement) -> Bool {
            element.attributes["class"].map { svg.contains(".\($0){opacity:0}") } ?? false
        }
        let visible = picture.children.filter { !isHidden($0) }.flatMap { $0.all(named: "text").map(\.text) }
        #expect(!visible.contains("no network") && visible.count { $0 == "no power" } == 1)
        for text in ["online", "no power", "signal −55 dBm", "+0.60 s"] { #expect(visible.contains(text), "\(text)") }
    }

    @Test func aStoryWithoutFailoverHasNoAnimation() {
        var story = Self.story()
        story.cut = nil
        #expect(FailoverAnimation(story) == nil)
        #expect(FailoverAnimation(DeviceStory()) == nil)
        #expect(StoryChart(DeviceStory()).svg.hasSuffix("</svg>\n"))
    }

    @Test func aHostileNameStaysText() throws {
        let story = Self.story(named: Sample.hostile.description)
        for svg in [StoryChart(story).svg, try #require(FailoverAnimation(story)).svg] {
            try expectReadableTexts(XMLElement(document: svg))
        }
    }
}
