import AppProtocol
import ArgumentParser
import KeyFile
import Terminal

struct KeyFileWear: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "wear", abstract: "Predict how long the flash will last.",
        discussion: """
            Extrapolates from the times and the erase counts of the sectors. NOR flash usually lasts 100000 erasures \
            per sector, NAND flash 1000 to 100000: see the chip's data sheet. An SD card or eMMC levels its own wear: \
            there, the bytes written per year count. Needs no root key, changes nothing and also works while the agent \
            runs.
            """)

    @OptionGroup var options: KeyFileOptions

    @Option(help: ArgumentHelp("Erasures that a sector lasts.", valueName: "number"))
    var cycles = WearEstimate.standardCycles

    func validate() throws {
        guard (1...1_000_000_000).contains(cycles) else { throw ValidationError("--cycles must be 1 to 1000000000") }
    }

    func run(_ console: Console) throws {
        let place = try options.place()
        let examination = try place.examineExisting(usingRootKey: false)
        let now = UInt32(clamping: console.now().millisecondsSince1970 / 1000)
        let estimate = WearEstimate(examination.sectors, now: now, cycles: cycles)
        if options.json { return console.print(json: WearDocument(estimate, examination)) }
        console.print(WearView(estimate: estimate, sectors: examination.sectors).render(console.style))
    }
}

struct WearView {
    let estimate: WearEstimate
    let sectors: [SectorReport]

    func render(_ style: Style) -> String {
        ([table(style).render(style), ""] + outlook(style)).joined(separator: "\n")
    }

    private func table(_ style: Style) -> Table {
        Table(
            columns: [
                .init(title: "SECTOR", isRightAligned: true), .init(title: "ERASED", isRightAligned: true),
                .init(title: "WORN", rank: 2), .init(title: "BEGUN", rank: 1),
            ],
            rows: sectors.map { sector in
                let share = Double(sector.header?.eraseCount ?? 0) / Double(estimate.cycles)
                let header = sector.header
                return [
                    "\(sector.index)", .init(header.map { "\($0.eraseCount)" } ?? "-"),
                    .init(DisplayText.bar(share, style), share > 0.8 ? .red : share > 0.5 ? .yellow : .green),
                    .init(header.map { DisplayText.date(seconds: $0.begun) } ?? "-"),
                ]
            })
    }

    private func outlook(_ style: Style) -> [String] {
        guard let rate = estimate.rate else { return [style.paint(obstacle, .yellow)] }
        var facts = FactList()
        let span = Age.duration(milliseconds: Int64(rate.span) * 1000) ?? "no time"
        facts.add("Measured over", "\(span), \(DisplayText.decimal(rate.sectorsBegun)) sectors started")
        facts.add(
            "Written",
            "\(DisplayText.bytes(rate.bytesPerDay)) a day, \(DisplayText.decimal(rate.commitsPerYear)) changes a year")
        facts.add("Erased", "\(DisplayText.decimal(rate.erasesPerSectorAndYear)) times a year, each sector")
        facts.add(
            "On an SD card",
            "\(DisplayText.bytes(rate.pageBytesPerYear)) a year in pages of 4 KiB; the card levels its own wear")
        guard let left = rate.yearsLeft else {
            return [style.heading("Nothing is written: this flash does not wear out."), facts.render(style)]
        }
        if let without = rate.yearsWithoutLevelling {
            facts.add("In one place", "\(DisplayText.years(without)), if every change erased the same sector")
        }
        let headline = "This flash lasts \(DisplayText.years(left)) more, at \(estimate.cycles) erasures per sector."
        return [style.paint(headline, left < 10 ? .red : .green), facts.render(style)]
    }

    private var obstacle: String {
        switch estimate.obstacle {
        case .nothingStored, nil: "Unknown: no sector can be read."
        case .clockNotSet:
            "Unknown: the clock was not set when the sectors were started, or is not set now."
        case .clockSetBack:
            "Unknown: the clock was set back between two sectors, or after them. Try again when these sectors "
                + "have been rewritten."
        case .tooShort(let seconds):
            "Unknown: the oldest sector was started "
                + "\(Age.duration(milliseconds: Int64(seconds) * 1000) ?? "less than a second") ago. "
                + "Try again after a day."
        }
    }
}

struct WearDocument: Encodable {
    let cycles: Int
    let sectors: [Sector]
    /// Rate of writing; missing if it cannot be estimated.
    let rate: Rate?
    let obstacle: String?

    struct Sector: Encodable {
        let sector: Int
        let eraseCount: UInt32?
        let begun: Timestamp?
    }

    struct Rate: Encodable {
        let spanSeconds: UInt32
        let sectorsBegun: Double
        let bytesPerDay: Double
        let commitsPerYear: Double
        let erasesPerSectorAndYear: Double
        let pageBytesPerYear: Double
        let yearsLeft: Double?
        let yearsWithoutLevelling: Double?
    }

    init(_ estimate: WearEstimate, _ examination: Examination) {
        cycles = estimate.cycles
        sectors = examination.sectors.map { sector in
            Sector(
                sector: sector.index, eraseCount: sector.header?.eraseCount,
                begun: sector.header.map { Timestamp(seconds: $0.begun) })
        }
        rate = estimate.rate.map { rate in
            Rate(
                spanSeconds: rate.span, sectorsBegun: rate.sectorsBegun, bytesPerDay: rate.bytesPerDay,
                commitsPerYear: rate.commitsPerYear, erasesPerSectorAndYear: rate.erasesPerSectorAndYear,
                pageBytesPerYear: rate.pageBytesPerYear, yearsLeft: rate.yearsLeft,
                yearsWithoutLevelling: rate.yearsWithoutLevelling)
        }
        obstacle =
            switch estimate.obstacle {
            case .nothingStored: "nothingStored"
            case .clockNotSet: "clockNotSet"
            case .clockSetBack: "clockSetBack"
            case .tooShort: "tooShort"
            case nil: nil
            }
    }
}
