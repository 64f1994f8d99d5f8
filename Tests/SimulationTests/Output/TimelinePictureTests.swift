import AgentModel
import Failover
import Testing

@testable import Simulation

@Suite struct TimelinePictureTests {
    private let plot = TimelinePicture.plot

    private func picture(_ timeline: Timeline = Sample.timeline(), _ scenario: Scenario = Sample.scenario()) throws
        -> XMLElement
    {
        try XMLElement(document: #require(TimelinePicture(of: Sample.result(timeline), in: scenario)).svg)
    }

    /// The boxes whose tip begins like that, from left to right.
    private func boxes(_ tip: String, in picture: XMLElement) -> [XMLElement] {
        picture.all(named: "rect").filter { $0.children.first?.text.hasPrefix(tip) == true }
    }

    private func texts(in picture: XMLElement) -> [String] { picture.all(named: "text").map(\.text) }

    @Test func aRunWithoutTimelineHasNoPicture() {
        #expect(TimelinePicture(of: Sample.result(nil), in: Sample.scenario()) == nil)
    }

    @Test func aStayIsAsWideAsItIsLong() throws {
        let picture = try picture()
        let home = try #require(boxes("HomeNet", in: picture).first)
        let backup = try #require(boxes("BackupNet", in: picture).first)
        let width = plot.upperBound - plot.lowerBound
        #expect(home.number("x") == plot.lowerBound)
        #expect(home.number("width") == width / 2)
        #expect(backup.number("x") == plot.lowerBound + width * 0.51)
        #expect(abs((backup.number("width") ?? 0) - width * 0.49) < 0.1)
        #expect(home.attributes["fill"] != backup.attributes["fill"])
    }

    @Test func anOutageIsRedAtItsTime() throws {
        let outage = try #require(boxes("outage", in: picture()).first)
        #expect(outage.number("x") == (plot.lowerBound + plot.upperBound) / 2)
        #expect(outage.number("width") == (plot.upperBound - plot.lowerBound) / 100)
        #expect(outage.attributes["fill"] == Palette.outage)
        let title = try #require(outage.children.first?.text)
        #expect(["0:30:00", "0:30:36", " 36 s"].allSatisfy { title.contains($0) }, "\(title)")
    }

    @Test func aMomentOfOutageIsSeenInADay() throws {
        var timeline = Timeline(duration: .seconds(86_400))
        timeline.outages = [.seconds(10)..<(.milliseconds(10_100))]
        let outage = try #require(boxes("outage", in: picture(timeline)).first)
        #expect(try #require(outage.number("width")) >= 2)
    }

    @Test func aStrongSignalIsAboveAWeakOneByTheScale() throws {
        var timeline = Timeline(duration: .seconds(60))
        timeline.signals = [
            Sample.signal("near", Sample.home, 2412, [-50, -50]),
            Sample.signal("far", Sample.backup, 2412, [-70, -70]),
        ]
        let picture = try picture(timeline)
        let lines = picture.all(named: "path").filter { $0.attributes["stroke-width"] == "1.4" }
        let heights = lines.compactMap { $0.attributes["d"]?.split(separator: "L").last?.split(separator: " ").last }
            .compactMap { Double($0) }
        let weak = try #require(picture.all(named: "line").first { $0.attributes["stroke-dasharray"] == "5 4" })
        try #require(heights.count == 2)
        // -40 to -90 dBm over the whole height; weak is -70.
        #expect(abs(heights[1] - heights[0] - TimelinePicture.chartHeight * 20 / 50) < 0.2)
        #expect(weak.number("y1") == heights[1])
    }

    @Test func aLineHasAGapWhereTheAccessPointIsOff() throws {
        var timeline = Timeline(duration: .seconds(60))
        timeline.signals = [Sample.signal("router", Sample.home, 2412, [-50, -50, nil, nil, -50, -50])]
        let line = try #require(picture(timeline).all(named: "path").first { $0.attributes["stroke-width"] == "1.4" })
        #expect(line.attributes["d"]?.count { $0 == "M" } == 2)
    }

    @Test func whatIsInUseIsDrawnBoldOnlyThen() throws {
        let bold = try picture().all(named: "path").filter {
            $0.attributes["stroke-width"] == "3.4" && $0.attributes["stroke"] == Palette.paint(0).colour
        }
        let line = try #require(bold.first?.attributes["d"])
        let xs = line.dropFirst().split(separator: "L").compactMap { $0.split(separator: " ").first }.compactMap {
            Double($0)
        }
        #expect(xs.first == plot.lowerBound)
        #expect(try #require(xs.last) <= (plot.lowerBound + plot.upperBound) / 2)
    }

    @Test func everythingIsToldInWords() throws {
        let texts = try texts(in: picture())
        for text in [
            "A power cut", "The router loses its power.", "router loses power", "router, channel 1, 2.4 GHz",
            "repeater, channel 36, 5 GHz", "weak on 2.4 GHz: −70 dBm", "critical on 5 GHz: −82 dBm", "0:30", "−50",
            Sample.timeline().decisions[0].text, Sample.timeline().decisions[1].text, "0:30:04", "1, 36 s in all",
        ] { #expect(texts.contains(text), "\(text)") }
        #expect(texts.contains { $0.hasPrefix("altnet: 36 s ") && $0.hasSuffix("1 switch") })
    }

    @Test func markersStandAtTheirMomentAndAreNumberedAsTheReasons() throws {
        var timeline = Sample.timeline()
        timeline.decisions = [900, 2700].map { Sample.decision(at: $0, .search, from: nil, to: nil, .noCandidate) }
        let picture = try picture(timeline)
        let quarter = (plot.upperBound - plot.lowerBound) / 4
        let numbers = picture.all(named: "text").filter {
            $0.attributes["fill"] == Palette.paper && $0.attributes["text-anchor"] == "middle"
        }
        let first = numbers.filter { $0.text == "1" }.compactMap { $0.number("x") }
        let second = numbers.filter { $0.text == "2" }.compactMap { $0.number("x") }
        #expect(first.contains(plot.lowerBound + quarter) && second.contains(plot.lowerBound + 3 * quarter))
        #expect(first.count == 2 && second.count == 2)
    }

    @Test func ofManyDecisionsTheWeightiestAreToldAndTheRestCounted() throws {
        var timeline = Sample.timeline()
        timeline.decisions = (0..<30).map { Sample.decision(at: $0, .online, from: nil, to: Sample.home, .start) }
        timeline.decisions += (0..<21).map { Sample.decision(at: 100 + $0, .join, from: nil, to: Sample.backup, .weak) }
        let texts = try texts(in: picture(timeline))
        #expect(texts.count { $0.hasPrefix("joining BackupNet") } == 20)
        #expect(texts.contains("and 31 more") && !texts.contains { $0.hasPrefix("online on") })
    }

    @Test func amongTwoHundredAccessPointsOnlyKnownNetworksAreDrawn() throws {
        var timeline = Timeline(duration: .seconds(60))
        timeline.signals = (0..<200).map { index in
            Sample.signal("ap\(index)", index == 150 ? Sample.home : Sample.ssid("Flat \(index)"), 2412, [-60, -60])
        }
        let picture = try picture(timeline)
        #expect(picture.all(named: "path").count { $0.attributes["stroke-width"] == "1.4" } == 1)
        #expect(texts(in: picture).contains { $0.hasPrefix("Left out: 199 ") })
        #expect(texts(in: picture).contains("ap150, channel 1, 2.4 GHz"))
    }

    @Test func ofTooManyKnownAccessPointsThoseInUseAndTheStrongestAreDrawn() throws {
        var timeline = Timeline(duration: .seconds(60))
        timeline.signals = (0..<20).map { Sample.signal("ap\($0)", Sample.home, 2412, [Double(-50 - $0)]) }
        timeline.stays = [.init(time: .zero..<(.seconds(9)), accessPoint: 19)]
        let texts = try texts(in: picture(timeline))
        #expect(texts.contains("ap19, channel 1, 2.4 GHz") && texts.contains("ap10, channel 1, 2.4 GHz"))
        #expect(!texts.contains("ap11, channel 1, 2.4 GHz"))
        #expect(texts.contains { $0.hasPrefix("Left out: 8 weaker ") })
    }

    @Test func whatHappensAtOneMomentHasOneLabel() throws {
        var timeline = Timeline(duration: .seconds(3600))
        timeline.happenings = [(0, "a"), (1, "b"), (1800, String(repeating: "x", count: 24)), (1800, "c"), (1801, "d")]
            .map {
                Timeline.Mark(at: .seconds($0.0), text: $0.1)
            }
        let texts = try texts(in: picture(timeline))
        #expect(texts.contains("a, b") && !texts.contains("b"))
        timeline.happenings.append(.init(at: .seconds(1800), text: String(repeating: "y", count: 24)))
        #expect(try self.texts(in: picture(timeline)).contains(String(repeating: "x", count: 24) + ", and 3 more"))
    }

    @Test func everythingThatHappensIsLabelledOnceBeforeAnythingIsTwice() throws {
        var timeline = Timeline(duration: .seconds(3600))
        timeline.happenings = (0..<100).map { .init(at: .seconds($0 * 36), text: "the door is shut again") }
        timeline.happenings[40] = .init(at: .seconds(1440), text: "the router is unplugged")
        let texts = try texts(in: picture(timeline))
        #expect(texts.contains("the router is unplugged") && texts.contains("the door is shut again"))
        #expect(texts.contains { $0.hasPrefix("Left out: ") && $0.contains(" labels ") })
    }

    @Test func lossOnBadLinksIsToldApartFromOutages() throws {
        var result = Sample.result(Sample.timeline())
        result.outage = .seconds(96)
        let picture = try XMLElement(document: #require(TimelinePicture(of: result, in: Sample.scenario())).svg)
        let total = try #require(texts(in: picture).first { $0.hasPrefix("altnet: ") })
        #expect(["1 min 36 s", "in 1 h", "which 1 min ", "1 switch"].allSatisfy { total.contains($0) }, "\(total)")
    }

    @Test func aHostileNameStaysText() throws {
        var timeline = Sample.timeline()
        timeline.signals = [Sample.signal("</svg>", Sample.hostile, 2412, [-50, -50])]
        let picture = try picture(timeline, Sample.scenario([Sample.hostile]))
        #expect(boxes(Sample.hostile.description, in: picture).count == 1)
        #expect(Set(picture.all.map(\.name)) == ["svg", "title", "desc", "rect", "line", "path", "circle", "text"])
    }

    @Test(arguments: 0..<60 as Range<UInt64>) func whateverHappenedThePictureIsWellFormed(seed: UInt64) throws {
        let (scenario, result) = Sample.random(seed: seed)
        let picture = try XMLElement(document: #require(TimelinePicture(of: result, in: scenario)).svg)
        let height = try #require(picture.number("height"))
        for element in picture.all {
            for (key, value) in element.attributes where ["x", "y", "x1", "y1", "x2", "y2", "cx", "cy"].contains(key) {
                let place = try #require(Double(value), "\(key)=\(value)")
                #expect((0...(key.contains("y") ? height : TimelinePicture.width)).contains(place), "\(key)=\(value)")
            }
        }
    }

    @Test(arguments: 0..<30 as Range<UInt64>) func labelsDoNotOverlap(seed: UInt64) throws {
        let (scenario, result) = Sample.random(seed: seed)
        let picture = try XMLElement(document: #require(TimelinePicture(of: result, in: scenario)).svg)
        let flags = picture.all(named: "text").filter {
            $0.attributes["font-size"] == "12.5" && $0.attributes["paint-order"] != nil
        }
        let places = try flags.map { flag in
            let x = try #require(flag.number("x"))
            return (y: try #require(flag.number("y")), x...(x + SVGDrawing.Lettering(size: 12.5).width(of: flag.text)))
        }
        for (index, (y, label)) in places.enumerated() {
            #expect(!places[..<index].contains { $0.y == y && $0.1.overlaps(label) })
        }
    }
}
