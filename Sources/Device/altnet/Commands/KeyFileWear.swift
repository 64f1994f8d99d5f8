import ArgumentParser
import KeyFile

struct KeyFileWear: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "wear", abstract: "Predict how long the flash will last.",
        discussion: """
            Takes the rate from what was really written: each sector says when it was begun, and how often it was erased. \
            NOR flash bears 100000 erasures a sector as a rule, NAND flash 1000 to 100000: see the chip's data sheet. An \
            SD card or eMMC levels its wear itself, so there the number of bytes a year is what counts. Needs no root \
            key, works beside a running agent, and changes nothing on the disk.
            """)

    @OptionGroup var options: KeyFileOptions

    @Option(help: ArgumentHelp("How often a sector bears being erased.", valueName: "number"))
    var cycles = WearEstimate.standardCycles

    func validate() throws {
        guard (1...1_000_000_000).contains(cycles) else { throw ValidationError("--cycles is 1 to 1000000000.") }
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
